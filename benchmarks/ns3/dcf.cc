// n senders and one receiver under 802.11's DCF: saturated, or Poisson frames; all hear each other,
// or, hidden, only the receiver does. Prints names and numbers in one line. Of Poisson frames those
// are counted that are sent after settling, and arrive before long after the last one is sent.
#include "wifi.h"

#include <unordered_set>

int
main(int argc, char** argv)
{
    Wifi net;
    uint32_t n = 5;
    uint32_t seed = 1;
    uint32_t payload = 1464;
    double seconds = 10;
    double rateHz = 0;
    double weakerDb = 0;
    bool hidden = false;
    CommandLine cmd;
    net.Options(cmd);
    cmd.AddValue("n", "senders", n);
    cmd.AddValue("seed", "", seed);
    cmd.AddValue("payload", "bytes of a frame, without headers", payload);
    cmd.AddValue("seconds", "of sending that count, after 1 s of settling", seconds);
    cmd.AddValue("rateHz", "frames a second of each sender; 0: saturated", rateHz);
    cmd.AddValue("hidden", "no sender hears another", hidden);
    cmd.AddValue("weakerDb", "every second sender arrives weaker by so much", weakerDb);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);
    RngSeedManager::SetRun(seed);
    const double cpu = CpuS();
    if (hidden || weakerDb > 0)
    {
        net.matrix = CreateObject<MatrixPropagationLossModel>();
        net.matrix->SetDefaultLoss(hidden ? 1000.0 : 60.0);
    }
    std::vector<Vector> places;
    for (uint32_t i = 0; i < n; ++i)
    {
        places.emplace_back(cos(2 * M_PI * i / n), sin(2 * M_PI * i / n), 0);
    }
    places.emplace_back(0, 0, 0);
    net.Build(places);
    for (uint32_t i = 0; net.matrix && i < n; ++i)
    {
        net.matrix->SetLoss(net.Place(i), net.Place(n), 60.0 + (i % 2) * weakerDb);
    }
    const double settled = 1.0;
    const double drained = rateHz > 0 ? 10.0 : 0.0;
    uint64_t got = 0;
    uint64_t tried = 0; // data frames sent, repeated ones included
    Config::ConnectWithoutContext(
        "/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Phys/0/PhyTxBegin",
        Callback<void, Ptr<const Packet>, double>([&](Ptr<const Packet> packet, double) {
            tried += packet->GetSize() > payload && Simulator::Now().GetSeconds() >= settled;
        }));
    std::unordered_set<uint64_t> offered; // numbers of packets
    net.devices.Get(n)->SetReceiveCallback(NetDevice::ReceiveCallback(
        [&](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&) {
            got += rateHz > 0 ? offered.count(packet->GetUid())
                              : Simulator::Now().GetSeconds() >= settled;
            return true;
        }));
    for (uint32_t i = 0; i < n; ++i)
    {
        if (rateHz > 0)
        {
            auto gap = CreateObject<ExponentialRandomVariable>();
            for (double t = gap->GetValue(1 / rateHz, 0); t < seconds + settled;
                 t += gap->GetValue(1 / rateHz, 0))
            {
                Simulator::Schedule(Seconds(t), [&, i]() {
                    auto packet = Create<Packet>(payload);
                    if (Simulator::Now().GetSeconds() > settled)
                    {
                        offered.insert(packet->GetUid());
                    }
                    net.Send(i, n, packet);
                });
            }
        }
        else
        {
            // so many frames that none runs out: twice what the rate carries, shared unfairly
            const double mbps = net.mode == "OfdmRate6Mbps" ? 6 : 54;
            const uint64_t all = 2 * (seconds + settled) * mbps * 1e6 / 8 / payload;
            const uint64_t mine = 1 + (n > 2 ? 3 * all / n : all);
            Simulator::Schedule(MicroSeconds(10 + 7 * i), [&, i, mine]() {
                for (uint64_t k = 0; k < mine; ++k)
                {
                    net.Send(i, n, Create<Packet>(payload));
                }
            });
        }
    }
    Simulator::Stop(Seconds(seconds + settled + drained));
    Simulator::Run();
    std::cout << "mbps " << got * payload * 8e-6 / seconds << " got " << got << " tried " << tried << " offered " << offered.size()
              << " events " << Simulator::GetEventCount() << " cpu_s " << CpuS() - cpu << std::endl;
    Simulator::Destroy();
}
