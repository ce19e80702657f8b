// One 802.11a link: how many of single-attempt frames arrive, by distance.
// Prints a line a distance: metres, frames that arrived, frames sent.
#include "wifi.h"

#include <sstream>

int
main(int argc, char** argv)
{
    Wifi base;
    std::string metres = "20,40";
    uint32_t frames = 2000;
    uint32_t payload = 1464;
    uint32_t seed = 1;
    CommandLine cmd;
    base.Options(cmd);
    cmd.AddValue("metres", "distances", metres);
    cmd.AddValue("frames", "at each distance", frames);
    cmd.AddValue("payload", "bytes of a frame, without headers", payload);
    cmd.AddValue("seed", "", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);
    std::stringstream list(metres);
    std::string one;
    while (std::getline(list, one, ','))
    {
        Wifi net = base;
        net.Build({Vector(0, 0, 0), Vector(std::stod(one), 0, 0)});
        uint32_t got = 0;
        net.devices.Get(1)->SetReceiveCallback(NetDevice::ReceiveCallback(
            [&](Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&) { return ++got > 0; }));
        auto everyone = net.devices.Get(0)->GetBroadcast(); // sent once, not acknowledged
        for (uint32_t k = 0; k < frames; ++k)
        {
            Simulator::Schedule(MilliSeconds(5 * k + 1), [&]() {
                net.devices.Get(0)->Send(Create<Packet>(payload), everyone, PROTOCOL);
            });
        }
        Simulator::Stop(MilliSeconds(5 * frames + 100));
        Simulator::Run();
        Simulator::Destroy();
        std::cout << one << " " << got << " " << frames << std::endl;
    }
}
