#include "tensor/random.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "text/strings.hpp"

namespace tensor_random_tests {

// Every number below was printed by NumPy 1.24.2 or PyTorch 1.13.1 (repr, .tolist()) after the seed
// and the calls that stand beside it.

using qkv::Generator;
using qkv::InputError;
using Numbers = std::vector<double>;

struct RandomStream : qkv::RandomStream {
  using qkv::RandomStream::RandomStream;

  Numbers rand(std::size_t count) {
    Numbers numbers(count);
    qkv::RandomStream::rand(numbers);
    return numbers;
  }

  Numbers randn(std::size_t count) {
    Numbers numbers(count);
    qkv::RandomStream::randn(numbers);
    return numbers;
  }
};

static Numbers last(std::size_t count, const Numbers& values) {
  return {values.end() - static_cast<std::ptrdiff_t>(count), values.end()};
}

TEST_CASE("rand gives the numbers of numpy.random.rand") {
  CHECK(RandomStream(Generator::numpy, 0).rand(4) ==
        Numbers{0.5488135039273248, 0.7151893663724195, 0.6027633760716439, 0.5448831829968969});
  CHECK(RandomStream(Generator::numpy, 123).rand(4) ==
        Numbers{0.6964691855978616, 0.28613933495037946, 0.2268514535642031, 0.5513147690828912});
  CHECK(RandomStream(Generator::numpy, 4294967295).rand(4) ==
        Numbers{0.0976320289940138, 0.9123828453026218, 0.78903530185164, 0.7800035981134678});
}

TEST_CASE("randn gives the numbers of numpy.random.randn") {
  CHECK(RandomStream(Generator::numpy, 0).randn(5) == Numbers{1.764052345967664, 0.4001572083672233,
                                                              0.9787379841057392, 2.240893199201458,
                                                              1.8675579901499675});
  CHECK(RandomStream(Generator::numpy, 123).randn(5) ==
        Numbers{-1.0856306033005612, 0.9973454465835858, 0.28297849805199204, -1.506294713918092,
                -0.5786002519685364});
  CHECK(RandomStream(Generator::numpy, 4294967295).randn(5) ==
        Numbers{0.6484086742306527, 0.6693235306338161, -1.0805437227474493, 0.2845010447986309,
                0.11388773652167104});
}

TEST_CASE("NumPy's stream is still exact after a hundred thousand numbers") {
  CHECK(last(3, RandomStream(Generator::numpy, 0).rand(100003)) ==
        Numbers{0.5352570732798739, 0.9040442474735421, 0.5023965695769852});
  CHECK(last(3, RandomStream(Generator::numpy, 0).randn(100003)) ==
        Numbers{-0.48379749195754734, 1.2880570646576663, -0.12987871175717317});
}

TEST_CASE("NumPy keeps the second normal number of a pair across rand") {
  RandomStream stream(Generator::numpy, 123);
  CHECK(stream.randn(3) == Numbers{-1.0856306033005612, 0.9973454465835858, 0.28297849805199204});
  CHECK(stream.rand(2) == Numbers{0.7194689697855631, 0.42310646012446096});
  CHECK(stream.randn(2) == Numbers{-1.506294713918092, -2.426679243393074});
  CHECK(stream.randn(1) == Numbers{-0.42891262885617726});
  CHECK(stream.rand(1) == Numbers{0.3431780161508694});
}

TEST_CASE("rand gives the numbers of torch.rand") {
  CHECK(RandomStream(Generator::torch, 0).rand(4) ==
        Numbers{0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688});
  CHECK(RandomStream(Generator::torch, 123).rand(4) ==
        Numbers{0.29611194133758545, 0.516562283039093, 0.2516707181930542, 0.6885567903518677});
  CHECK(RandomStream(Generator::torch, 4294967295).rand(4) ==
        Numbers{0.9937993884086609, 0.5713063478469849, 0.5700080394744873, 0.04950374364852905});
}

TEST_CASE("PyTorch uses the low 32 bits of a seed") {
  CHECK(RandomStream(Generator::torch, 4294967419).rand(4) ==  // 2^32 + 123
        Numbers{0.29611194133758545, 0.516562283039093, 0.2516707181930542, 0.6885567903518677});
}

TEST_CASE("randn gives the numbers of torch.randn for fewer than 16") {
  CHECK(RandomStream(Generator::torch, 0).randn(15) ==
        Numbers{1.5409960746765137, -0.293428897857666, -2.1787893772125244, 0.5684312582015991,
                -1.0845223665237427, -1.3985954523086548, 0.40334683656692505, 0.8380263447761536,
                -0.7192575931549072, -0.40334352850914, -0.5966353416442871, 0.18203648924827576,
                -0.8566746115684509, 1.1006041765213013, -1.0711873769760132});
  CHECK(RandomStream(Generator::torch, 123).randn(5) ==
        Numbers{-0.11146711558103561, 0.12036294490098953, -0.3696345090866089, -0.2404179722070694,
                -1.1969243288040161});
  CHECK(RandomStream(Generator::torch, 4294967295).randn(5) ==
        Numbers{1.2197630405426025, -0.3929794728755951, 1.0230751037597656, -0.3734211325645447,
                -0.07551019638776779});
}

TEST_CASE("randn gives the numbers of torch.randn for 16") {
  CHECK(RandomStream(Generator::torch, 0).randn(16) ==
        Numbers{-1.1258398294448853, -1.152360200881958, -0.2505785822868347, -0.4338788092136383,
                0.8487103581428528, 0.6920091509819031, -0.31601276993751526, -2.1152193546295166,
                0.32227492332458496, -1.2633347511291504, 0.34998318552970886, 0.30813392996788025,
                0.11984150856733322, 1.237657904624939, 1.1167771816253662, -0.2472781538963318});
  CHECK(RandomStream(Generator::torch, 123).randn(16) ==
        Numbers{0.3373701870441437, -0.1777772158384323, -0.3035275936126709, -0.5880118608474731,
                0.3486051857471466, 0.6603409647941589, -0.21963761746883392, -0.3791698217391968,
                0.7671070694923401, -1.1925020217895508, 0.6983519196510315, -1.409722924232483,
                0.17937961220741272, 1.8951480388641357, 0.4954463839530945, 0.26919856667518616});
  CHECK(RandomStream(Generator::torch, 4294967295).randn(16) ==
        Numbers{-2.664297580718994, -1.0910485982894897, 0.45144742727279663, 0.22836069762706757,
                1.8986178636550903, 1.5642088651657104, -1.2553997039794922, 0.7936442494392395,
                -1.7514946460723877, -0.7096747159957886, 1.218266248703003, 0.2222464680671692,
                -2.5158841609954834, 0.48375222086906433, 0.8417865633964539, 0.1409096121788025});
}

TEST_CASE("torch.randn draws its last 16 numbers again where the count is no multiple of 16") {
  CHECK(RandomStream(Generator::torch, 0).randn(17) ==
        Numbers{-1.1258398294448853, -1.6959311962127686, 0.5666506290435791, 0.7935083508491516,
                0.5988394618034363, -1.5550950765609741, -0.3413603901863098, 1.85300612449646,
                0.46809640526771545, -0.5854975581169128, -0.1733967512845993, 0.18347793817520142,
                1.3893661499023438, 1.586334228515625, 0.946298360824585, -0.843676745891571,
                0.9318265914916992});
  CHECK(RandomStream(Generator::torch, 4294967295).randn(31) ==
        Numbers{
            -2.664297580718994,    -1.0910485982894897,  0.45144742727279663, 0.22836069762706757,
            1.8986178636550903,    1.5642088651657104,   -1.2553997039794922, 0.7936442494392395,
            -1.7514946460723877,   -0.7096747159957886,  1.218266248703003,   0.2222464680671692,
            -2.5158841609954834,   0.48375222086906433,  0.8417865633964539,  -1.0280195474624634,
            -0.021276824176311493, 1.7220553159713745,   0.7700403332710266,  -1.4820665121078491,
            -0.863675057888031,    -0.10301630944013596, -1.2180536985397339, -0.04703230410814285,
            1.0392602682113647,    -0.9984305500984192,  0.6818176507949829,  -1.1006033420562744,
            1.562240719795227,     -1.885819673538208,   -1.0488554239273071});
  CHECK(last(24, RandomStream(Generator::torch, 123).randn(40)) ==
        Numbers{
            -0.07702023535966873, -1.0204719305038452,  -0.16895627975463867, 0.9177646040916443,
            1.5809695720672607,   1.3010399341583252,   1.275301218032837,    -0.20095309615135193,
            0.9624210000038147,   0.2492084950208664,   -0.48450207710266113, -2.092914342880249,
            -0.819909930229187,   -0.42103812098503113, -0.9619980454444885,  1.2824753522872925,
            -0.34303799271583557, -0.6821473836898804,  -0.9886894226074219,  -1.7018303871154785,
            -0.7498023509979248,  -1.1285172700881958,  0.4135102331638336,   0.2891692817211151});
  CHECK(last(4, RandomStream(Generator::torch, 0).randn(100003)) ==
        Numbers{-0.3062538504600525, -1.5984946489334106, -0.9143285155296326, 0.2962958812713623});
}

TEST_CASE("PyTorch keeps the second normal number of a pair across rand and long randn") {
  RandomStream stream(Generator::torch, 123);
  CHECK(stream.randn(3) == Numbers{-0.11146711558103561, 0.12036294490098953, -0.3696345090866089});
  CHECK(stream.rand(2) == Numbers{0.18405646085739136, 0.7264467477798462});
  CHECK(stream.randn(16) == Numbers{-0.642166018486023, -0.8128148913383484, 0.24026133120059967,
                                    -0.5515920519828796, -0.5696947574615479, 1.007605791091919,
                                    -0.07702023535966873, -1.0204719305038452, 0.5873985886573792,
                                    -1.2896192073822021, -0.3155498504638672, -0.36557674407958984,
                                    -0.6604904532432556, -0.11041148006916046, 0.49647098779678345,
                                    -1.5723042488098145});
  CHECK(stream.randn(2) == Numbers{-0.2404179722070694, 0.12192346900701523});
  CHECK(stream.rand(1) == Numbers{0.9268229007720947});
}

TEST_CASE("linear gives the weight, then the bias, of torch.nn.Linear") {
  RandomStream small(Generator::torch, 0);
  CHECK(small.linear_weight(3, 2) == Numbers{-0.004322517663240433, 0.3097158372402191,
                                             -0.4751853346824646, -0.4248946011066437,
                                             -0.2223689705133438, 0.15482072532176971});
  CHECK(small.linear_bias(3, 2) == Numbers{-0.011439144611358643, 0.45777493715286255});
  CHECK(small.rand(1) == Numbers{0.455627977848053});

  RandomStream larger(Generator::torch, 123);
  CHECK(larger.linear_weight(4, 3) ==
        Numbers{-0.20388805866241455, 0.016562283039093018, -0.2483292818069458,
                0.18855679035186768, -0.4260275363922119, 0.366521954536438, -0.36342012882232666,
                -0.3975209593772888, -0.31594353914260864, 0.2264467477798462, -0.18474608659744263,
                0.1871066689491272});
  CHECK(larger.linear_bias(4, 3) ==
        Numbers{-0.42436468601226807, -0.30336183309555054, -0.18358802795410156});
  CHECK(larger.rand(1) == Numbers{0.4017401337623596});

  RandomStream single(Generator::torch, 4294967295);
  CHECK(single.linear_weight(7, 1) == Numbers{0.3732772469520569, 0.053902532905340195,
                                              0.052921101450920105, -0.34054315090179443,
                                              0.3727012872695923, 0.18010351061820984,
                                              0.13676339387893677});
  CHECK(single.linear_bias(7, 1) == Numbers{-0.16828949749469757});
  CHECK(single.rand(1) == Numbers{0.5925574898719788});
}

TEST_CASE("a linear layer without a bias draws the weight only") {
  RandomStream stream(Generator::torch, 0);
  CHECK(stream.linear_weight(3, 2).size() == 6);
  CHECK(stream.linear_weight(2, 2) == Numbers{-0.014010033570230007, 0.5606575012207031,
                                              -0.06275151669979095, 0.1871093362569809});
}

TEST_CASE("drawing no numbers leaves the stream where it was") {
  RandomStream stream(Generator::torch, 0);
  CHECK(stream.rand(0).empty());
  CHECK(stream.randn(0).empty());
  CHECK(stream.rand(1) == Numbers{0.49625658988952637});
}

TEST_CASE("a NumPy seed of 2^32 or more is refused") {
  CHECK_THROWS_WITH(
      RandomStream(Generator::numpy, 4294967296),
      "seed 4294967296 is too large for NumPy: write a whole number from 0 to 4294967295");
  CHECK_THROWS_AS(RandomStream(Generator::numpy, 4294967296), InputError);
}

TEST_CASE("linear with NumPy's stream is refused") {
  const std::string message =
      "linear draws the weights of PyTorch's nn.Linear, which NumPy does not have: write "
      "generator = \"torch\", or draw with rand or randn";
  RandomStream stream(Generator::numpy, 0);
  CHECK_THROWS_WITH(stream.linear_weight(3, 2), message);
  CHECK_THROWS_WITH(stream.linear_bias(3, 2), message);
  CHECK_THROWS_AS(stream.linear_bias(3, 2), InputError);
}

TEST_CASE("a linear layer too large for a tensor is refused before it is drawn") {
  RandomStream stream(Generator::torch, 0);
  CHECK_THROWS_WITH(stream.linear_weight(40000, 40000),
                    "linear of 40000×40000 numbers is too large: 1600000000 numbers take 11.9 GiB, "
                    "and qkv may use 8 GiB (1073741824 numbers): make it smaller, or allow more "
                    "with --memory 12G");
  CHECK(stream.rand(1) == Numbers{0.49625658988952637});
}

}  // namespace tensor_random_tests
