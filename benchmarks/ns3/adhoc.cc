// An ad hoc network that sends given messages, cut into frames, from given places or along given ways.
// Files are those of `netsim export RUN --for ns3`. Writes a line a message: when its last frame
// arrived [s] (-1: not all did), its frames, and how many arrived. Prints names and numbers.
#include "wifi.h"

#include <map>
#include <sstream>
#include <unordered_map>

struct Message
{
    double t;
    uint32_t src;
    uint32_t dst;
    uint64_t bytes;
    uint32_t frames = 0;
    uint32_t got = 0;
    double done = -1;
};

template <typename Take>
void
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
    Wifi net;
    std::string folder;
    std::string out;
    uint32_t seed = 1;
    uint32_t payload = 1464;
    uint32_t header = HEADER_BYTES;
    double stop = 100;
    bool gains = false;
    CommandLine cmd;
    net.Options(cmd);
    cmd.AddValue("folder", "with messages.txt, places.txt, nodes.txt and, for --gains, gains.txt", folder);
    cmd.AddValue("out", "file to write", out);
    cmd.AddValue("seed", "", seed);
    cmd.AddValue("payload", "most bytes of a frame, without headers", payload);
    cmd.AddValue("header", "bytes that a frame has beside them", header);
    cmd.AddValue("stop", "seconds to play", stop);
    cmd.AddValue("gains", "take gains.txt in place of log-distance", gains);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);
    RngSeedManager::SetRun(seed);
    const double start = CpuS();

    std::map<uint32_t, std::vector<Waypoint>> ways;
    Lines(folder + "/places.txt", [&](std::istream& words) {
        uint32_t node;
        double t;
        double x;
        double y;
        words >> node >> t >> x >> y;
        ways[node].emplace_back(Seconds(t), Vector(x, y, 0));
    });
    net.nodes.Create(ways.size());
    for (auto& [node, way] : ways)
    {
        if (way.size() == 1)
        {
            auto still = CreateObject<ConstantPositionMobilityModel>();
            still->SetPosition(way[0].position);
            net.nodes.Get(node)->AggregateObject(still);
            continue;
        }
        auto moving = CreateObject<WaypointMobilityModel>();
        net.nodes.Get(node)->AggregateObject(moving);
        for (auto& point : way)
        {
            moving->AddWaypoint(point);
        }
    }
    if (gains)
    {
        net.matrix = CreateObject<MatrixPropagationLossModel>();
        net.matrix->SetDefaultLoss(1000.0);
    }
    net.Install();
    if (gains)
    {
        Lines(folder + "/gains.txt", [&](std::istream& words) {
            double t;
            uint32_t src;
            uint32_t dst;
            double db;
            words >> t >> src >> dst >> db;
            auto set = [&net, src, dst, db]() {
                net.matrix->SetLoss(net.Place(src), net.Place(dst), -db, false);
            };
            t > 0 ? (void)Simulator::Schedule(Seconds(t), set) : set();
        });
    }
    Lines(folder + "/nodes.txt", [&](std::istream& words) {
        uint32_t node;
        double dbm;
        words >> node >> dbm;
        auto phy = DynamicCast<WifiNetDevice>(net.devices.Get(node))->GetPhy();
        phy->SetTxPowerStart(dBm_u{dbm});
        phy->SetTxPowerEnd(dBm_u{dbm});
    });

    std::vector<Message> messages;
    Lines(folder + "/messages.txt", [&](std::istream& words) {
        Message m;
        words >> m.t >> m.src >> m.dst >> m.bytes;
        m.frames = (m.bytes + payload - 1) / payload;
        messages.push_back(m);
    });
    std::unordered_map<uint64_t, uint32_t> of; // a packet's number -> its message
    for (uint32_t k = 0; k < messages.size(); ++k)
    {
        Simulator::Schedule(Seconds(messages[k].t), [&, k]() {
            auto& m = messages[k];
            const uint32_t size = (m.bytes + m.frames - 1) / m.frames + header - HEADER_BYTES;
            for (uint32_t f = 0; f < m.frames; ++f)
            {
                auto packet = Create<Packet>(size);
                of[packet->GetUid()] = k;
                net.Send(m.src, m.dst, packet);
            }
        });
    }
    auto arrived = [&](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&) {
        auto found = of.find(packet->GetUid());
        if (found != of.end())
        {
            auto& m = messages[found->second];
            if (++m.got == m.frames)
            {
                m.done = Simulator::Now().GetSeconds();
            }
        }
        return true;
    };
    for (uint32_t i = 0; i < net.devices.GetN(); ++i)
    {
        net.devices.Get(i)->SetReceiveCallback(NetDevice::ReceiveCallback(arrived));
    }
    const double before = CpuS();
    Simulator::Stop(Seconds(stop));
    Simulator::Run();
    const double after = CpuS();
    uint64_t frames = 0;
    uint64_t got = 0;
    std::ofstream written(out);
    written.precision(12);
    for (auto& m : messages)
    {
        frames += m.frames;
        got += m.got;
        written << m.done << " " << m.frames << " " << m.got << "\n";
    }
    std::cout << "messages " << messages.size() << " frames " << frames << " got " << got << " events "
              << Simulator::GetEventCount() << " cpu_s " << after - before << " setup_s "
              << before - start << std::endl;
    Simulator::Destroy();
}
