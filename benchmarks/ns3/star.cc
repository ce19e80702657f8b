// A star of wires: every node behind an access link, one hub between; a TCP connection a message.
// Files are those of `netsim export RUN --for ns3`. Writes a line a message: when its last byte
// arrived [s] (-1: not all did). Prints names and numbers.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace ns3;

static double
CpuS()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

struct Message
{
    double t;
    uint32_t src;
    uint32_t dst;
    uint64_t bytes;
    uint64_t got = 0;
    double done = -1;
};

template <typename Take>
static void
Lines(const std::string& path, Take take)
{
    std::ifstream file(path);
    NS_ABORT_MSG_UNLESS(file, "can't read " << path);
    std::string line;
    while (std::getline(file, line))
    {
        std::istringstream words(line);
        if (!line.empty() && line[0] != '#')
        {
            take(words);
        }
    }
}

int
main(int argc, char** argv)
{
    std::string folder;
    std::string out;
    std::string tcp = "ns3::TcpCubic";
    std::string queue = "100p";
    double latency = 0.01;
    double stop = 600;
    uint32_t seed = 1;
    uint32_t segment = 1448;
    uint32_t window = 10;
    CommandLine cmd;
    cmd.AddValue("folder", "with messages.txt and nodes.txt", folder);
    cmd.AddValue("out", "file to write", out);
    cmd.AddValue("latency", "from node to node, one way [s]", latency);
    cmd.AddValue("tcp", "congestion control", tcp);
    cmd.AddValue("queue", "drop-tail queue of a link", queue);
    cmd.AddValue("segment", "payload of a packet [bytes]", segment);
    cmd.AddValue("window", "initial window [segments]", window);
    cmd.AddValue("stop", "seconds to play", stop);
    cmd.AddValue("seed", "", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);
    RngSeedManager::SetRun(seed);
    const double start = CpuS();
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(tcp));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", QueueSizeValue(QueueSize(queue)));

    std::vector<std::pair<double, double>> access;
    Lines(folder + "/nodes.txt", [&](std::istream& words) {
        uint32_t node;
        double up;
        double down;
        words >> node >> up >> down;
        access.emplace_back(up, down);
    });
    NodeContainer nodes;
    nodes.Create(access.size());
    auto hub = CreateObject<Node>();
    InternetStackHelper internet;
    internet.Install(nodes);
    internet.Install(hub);
    Ipv4AddressHelper ip;
    ip.SetBase("10.0.0.0", "255.255.255.252");
    std::vector<Ipv4Address> address;
    for (uint32_t i = 0; i < access.size(); ++i)
    {
        PointToPointHelper wire;
        wire.SetChannelAttribute("Delay", TimeValue(Seconds(latency / 2)));
        auto ends = wire.Install(nodes.Get(i), hub);
        ends.Get(0)->SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(access[i].first))));
        ends.Get(1)->SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(access[i].second))));
        TrafficControlHelper control;
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(queue));
        control.Install(ends);
        address.push_back(ip.Assign(ends).GetAddress(0));
        ip.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<Message> messages;
    Lines(folder + "/messages.txt", [&](std::istream& words) {
        Message m;
        words >> m.t >> m.src >> m.dst >> m.bytes;
        messages.push_back(m);
    });
    NS_ABORT_MSG_UNLESS(messages.size() < 60000, "one port a message: fewer than 60,000 of them");
    for (uint32_t k = 0; k < messages.size(); ++k)
    {
        auto& m = messages[k];
        const uint16_t port = 1000 + k;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(nodes.Get(m.dst))
            .Get(0)
            ->TraceConnectWithoutContext("Rx",
                                         Callback<void, Ptr<const Packet>, const Address&>(
                                             [&m](Ptr<const Packet> p, const Address&) {
                                                 m.got += p->GetSize();
                                                 if (m.got >= m.bytes && m.done < 0)
                                                 {
                                                     m.done = Simulator::Now().GetSeconds();
                                                 }
                                             }));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(address[m.dst], port));
        bulk.SetAttribute("MaxBytes", UintegerValue(m.bytes));
        bulk.Install(nodes.Get(m.src)).Start(Seconds(m.t));
    }
    const double before = CpuS();
    Simulator::Stop(Seconds(stop));
    Simulator::Run();
    const double after = CpuS();
    std::ofstream written(out);
    written.precision(12);
    for (auto& m : messages)
    {
        written << m.done << " 1 " << (m.done >= 0) << "\n";
    }
    std::cout << "messages " << messages.size() << " events " << Simulator::GetEventCount() << " cpu_s "
              << after - before << " setup_s " << before - start << std::endl;
    Simulator::Destroy();
}
