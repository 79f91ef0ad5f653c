// Image folders in the real program: the bits of an archive with the same pixels.
#include "tests/clients/data/npz_fixture.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Two classes of two images, as files and as the pixels that Pillow read from them.
class PictureFiles {
public:
    PictureFiles() {
        const auto pictures = source_folder() / "tests/clients/data/pictures";
        std::string x;
        for (const auto& [place, name] : {std::pair("a/1.png", "colour.png"), std::pair("a/2.png", "palette.png"),
                                          std::pair("b/1.png", "alpha.png"), std::pair("b/2.png", "interlaced.png")}) {
            std::filesystem::create_directories((folder_.path() / "images" / place).parent_path());
            std::filesystem::copy(pictures / name, folder_.path() / "images" / place);
            const std::string pixels = clients::content_of(pictures / (std::string(name) + ".pixels"));
            for (std::size_t channel = 0; channel < 3; ++channel)
                for (std::size_t at = channel; at < pixels.size(); at += 3) x += pixels[at];
        }
        clients::write_npz(folder_.path() / "all.npz",
                           {{"x", clients::npy("|u1", "(4, 3, 13, 10)", x)},
                            {"y", clients::npy("<i4", "(4,)", clients::raw(std::vector<std::int32_t>{0, 0, 1, 1}))}});
    }
    Options config(const std::string& format, const std::string& place) const {
        const std::string all = (folder_.path() / place).string();
        return {fmt::format("data={{format: {}, train: {}, test: {}, partition: {{clients: 2}}}}", format, all, all),
                "training.cohort=2", "rounds=2"};
    }
    std::filesystem::path file(const std::string& name) const { return folder_.path() / "images" / name; }

private:
    TemporaryFolder folder_;
};

}  // namespace

TEST_SUITE("ImagesRun") {
    TEST_CASE("ImagesGiveTheBitsOfTheirPixels") {
        const PictureFiles files;
        const std::string of_images = sha_with(files.config("images", "images"));
        CHECK(of_images == sha_with(files.config("npz", "all.npz")));
        CHECK(of_images == sha_with(files.config("images", "images") + Options{"workers=0"}));
    }

    TEST_CASE("ImageThatIsCutOffEndsWithStatusTwoAndItsName") {
        const PictureFiles files;
        std::filesystem::resize_file(files.file("b/1.png"), 80);
        FedhiveRun run(small_config(), set(files.config("images", "images")));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("data.train: " + files.file("b/1.png").string() + ": cannot be read as PNG: ") !=
                          std::string::npos,
                      run.output());
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }
}
