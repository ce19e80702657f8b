// An 802.11a ad hoc network in ns-3: devices that send raw frames, without IP or ARP. CPU time.
#pragma once
#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

const uint16_t PROTOCOL = 0x88B5;   // of local experiments (IEEE 802)
const uint32_t HEADER_BYTES = 36;   // what ns-3 adds to a raw frame: MAC 24, FCS 4, LLC and SNAP 8

inline double
CpuS()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

struct Wifi
{
    std::string mode = "OfdmRate6Mbps";
    std::string error = "ns3::NistErrorRateModel";
    double exponent = 3.0;          // log-distance
    double referenceDb = 46.6777;   // at 1 m
    double nakagamiM = 0.0;         // 0: no fading; a draw a frame
    double txDbm = 20.0;
    double noiseFigureDb = 7.0;
    double sensitivityDbm = -82.0;  // what is weaker is not noticed; -1000: everything is
    uint32_t retries = 7;           // attempts at a frame
    uint32_t rtsBytes = 4000000;    // frames of more bytes are preceded by RTS and CTS
    NodeContainer nodes;
    NetDeviceContainer devices;
    Ptr<MatrixPropagationLossModel> matrix; // in place of log-distance, if it is set

    void Options(CommandLine& cmd)
    {
        cmd.AddValue("mode", "rate of all frames, e.g. OfdmRate6Mbps", mode);
        cmd.AddValue("error", "ns-3's error model", error);
        cmd.AddValue("exponent", "of log-distance; 0.0001: all are equally strong", exponent);
        cmd.AddValue("referenceDb", "loss at 1 m", referenceDb);
        cmd.AddValue("m", "of Nakagami fading, 1: Rayleigh, 0: none", nakagamiM);
        cmd.AddValue("dbm", "transmit power", txDbm);
        cmd.AddValue("noiseFigureDb", "", noiseFigureDb);
        cmd.AddValue("sensitivityDbm", "weaker preambles are missed; -1000: none is", sensitivityDbm);
        cmd.AddValue("retries", "attempts at a frame", retries);
        cmd.AddValue("rtsBytes", "RTS before longer frames", rtsBytes);
    }

    // Devices on nodes that have their mobility models already.
    void Install()
    {
        Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("4000000p")));
        Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1e6)));
        Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(rtsBytes));
        Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(retries));
        Ptr<PropagationLossModel> loss = matrix;
        if (!loss)
        {
            auto law = CreateObject<LogDistancePropagationLossModel>();
            law->SetPathLossExponent(exponent);
            law->SetReference(1.0, referenceDb);
            loss = law;
        }
        if (nakagamiM > 0)
        {
            auto fading = CreateObject<NakagamiPropagationLossModel>();
            for (auto name : {"m0", "m1", "m2"})
            {
                fading->SetAttribute(name, DoubleValue(nakagamiM));
            }
            loss->SetNext(fading);
        }
        auto channel = CreateObject<YansWifiChannel>();
        channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
        channel->SetPropagationLossModel(loss);
        YansWifiPhyHelper phy;
        phy.SetChannel(channel);
        phy.SetErrorRateModel(error);
        phy.Set("TxPowerStart", DoubleValue(txDbm));
        phy.Set("TxPowerEnd", DoubleValue(txDbm));
        phy.Set("RxNoiseFigure", DoubleValue(noiseFigureDb));
        phy.Set("RxSensitivity", DoubleValue(-1000.0));
        if (sensitivityDbm <= -1000.0)
        {
            phy.DisablePreambleDetectionModel();
        }
        else
        {
            phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                          "MinimumRssi", DoubleValue(sensitivityDbm));
        }
        WifiHelper wifi;
        wifi.SetStandard(WIFI_STANDARD_80211a);
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode),
                                     "ControlMode", StringValue("OfdmRate6Mbps"),
                                     "NonUnicastMode", StringValue(mode));
        WifiMacHelper mac;
        mac.SetType("ns3::AdhocWifiMac");
        devices = wifi.Install(phy, mac, nodes);
    }

    // Nodes that stay where they are.
    void Build(const std::vector<Vector>& places)
    {
        nodes.Create(places.size());
        auto at = CreateObject<ListPositionAllocator>();
        for (auto& place : places)
        {
            at->Add(place);
        }
        MobilityHelper mobility;
        mobility.SetPositionAllocator(at);
        mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
        mobility.Install(nodes);
        Install();
    }

    Ptr<MobilityModel> Place(uint32_t node)
    {
        return nodes.Get(node)->GetObject<MobilityModel>();
    }

    void Send(uint32_t src, uint32_t dst, Ptr<Packet> packet)
    {
        devices.Get(src)->Send(packet, devices.Get(dst)->GetAddress(), PROTOCOL);
    }
};
