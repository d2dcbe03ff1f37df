// docs/record.schema.json, made from the descriptions that read and write records.
#include <cmath>
#include <set>
#include <type_traits>
#include <vector>

#include "base/json/write.h"
#include "record/json/file.h"
#include "record/json/record.h"

namespace tmaprobe::record {
namespace {

using json::Presence;

class SchemaWriter {
  public:
    std::string take() {
        writer_.begin_object();
        writer_.member("$schema", "https://json-schema.org/draft/2020-12/schema");
        writer_.member("$id", "urn:tmaprobe:record:1");
        writer_.member("title", "tmaprobe record");
        struct_content<Record>();
        writer_.key("$defs");
        writer_.begin_object();
        // Each definition may ask for further ones.
        for (std::size_t next = 0; next < definitions_.size(); ++next) (this->*definitions_[next])();
        writer_.end_object();
        writer_.end_object();
        return writer_.take();
    }

  private:
    template <class T>
    void struct_content() {
        using Described = json::Description<T>;
        writer_.member("description", Described::meaning);
        writer_.member("type", "object");
        std::vector<std::string> required;
        std::apply([&](const auto&... fields) { (add_required(fields, required), ...); }, Described::fields);
        if (!required.empty()) writer_.member("required", required);
        writer_.key("properties");
        writer_.begin_object();
        properties<T>();
        writer_.end_object();
        std::apply([&](const auto&... fields) { (rest_of(fields), ...); }, Described::fields);
        if constexpr (requires { Described::write_rules(writer_); }) Described::write_rules(writer_);
    }
    template <class Field>
    static void add_required(const Field& field, std::vector<std::string>& required) {
        if constexpr (std::is_base_of_v<json::Place, Field>)
            if (field.presence == Presence::always) required.emplace_back(field.name);
    }
    template <class T>
    void properties() {
        std::apply([&](const auto&... fields) { (property<T>(fields), ...); }, json::Description<T>::fields);
    }
    template <class T, class Struct, class Member>
    void property(const json::Field<Struct, Member>& field) {
        placed<Member>(field);
    }
    template <class T, class Get, class Set>
    void property(const json::Property<Get, Set>& property) {
        placed<std::remove_cvref_t<decltype(property.get(std::declval<const T&>()))>>(property);
    }
    template <class T, class Struct, class Member>
    void property(const json::Inlined<Struct, Member>&) {
        properties<typename Member::value_type>();
    }
    template <class T, class Struct, class Member>
    void property(const json::Rest<Struct, Member>&) {}

    template <class Field>
    void rest_of(const Field& rest) {
        if constexpr (!std::is_base_of_v<json::Place, Field> && requires { rest.meaning; }) {
            writer_.key("additionalProperties");
            writer_.begin_object();
            writer_.member("type", std::vector<std::string>{"string", "number", "boolean"});
            writer_.member("description", rest.meaning);
            writer_.end_object();
        }
    }
    template <class T>
    void placed(const json::Place& place) {
        writer_.key(place.name);
        writer_.begin_object();
        type<T>(place.null_if_empty);
        constexpr bool no_sign = std::is_unsigned_v<T> && !std::is_same_v<T, bool>;
        if (no_sign || std::isfinite(place.least))
            writer_.member("minimum", static_cast<std::int64_t>(std::isfinite(place.least) ? place.least : 0));
        writer_.member("description", place.meaning);
        writer_.end_object();
    }

    void simple(const char* name, bool or_null) {
        if (or_null)
            writer_.member("type", std::vector<std::string>{name, "null"});
        else
            writer_.member("type", name);
    }
    /// What a value of the type must be, as members of the object that is being written.
    template <class T>
    void type(bool or_null) {
        if constexpr (json::detail::IsOptional<T>::value) {
            type<typename T::value_type>(true);
        } else if constexpr (json::Described<T>) {
            define<T>();
            const std::string reference = "#/$defs/" + std::string(json::Description<T>::name);
            if (!or_null) return writer_.member("$ref", reference);
            any_of([&] { writer_.member("$ref", reference); }, [&] { writer_.member("type", "null"); });
        } else if constexpr (Named<T>) {
            writer_.member("enum", names_of<T>());
        } else if constexpr (json::detail::IsVector<T>::value) {
            simple("array", or_null);
            element<typename T::value_type>("items");
        } else if constexpr (json::detail::IsMap<T>::value) {
            simple("object", or_null);
            element<typename T::mapped_type>("additionalProperties");
        } else if constexpr (json::detail::IsVariant<T>::value) {
            alternatives(static_cast<T*>(nullptr));
        } else if constexpr (std::is_same_v<T, bool>) {
            simple("boolean", or_null);
        } else if constexpr (std::is_same_v<T, std::string>) {
            simple("string", or_null);
        } else if constexpr (std::is_floating_point_v<T>) {
            simple("number", true);
        } else {
            simple("integer", or_null);
        }
    }
    template <class T>
    void element(const char* key) {
        writer_.key(key);
        writer_.begin_object();
        type<T>(false);
        writer_.end_object();
    }
    template <class... Write>
    void any_of(const Write&... write) {
        writer_.key("anyOf");
        writer_.begin_array();
        const auto one = [&](const auto& content) {
            writer_.begin_object();
            content();
            writer_.end_object();
        };
        (one(write), ...);
        writer_.end_array();
    }
    template <class... T>
    void alternatives(std::variant<T...>*) {
        any_of([&] { type<T>(false); }...);
    }

    template <class T>
    void define() {
        if (known_.insert(json::Description<T>::name).second) definitions_.push_back(&SchemaWriter::definition<T>);
    }
    template <class T>
    void definition() {
        writer_.key(json::Description<T>::name);
        writer_.begin_object();
        struct_content<T>();
        writer_.end_object();
    }

    json::Writer writer_{json::Layout::indented};
    std::set<std::string_view> known_;
    std::vector<void (SchemaWriter::*)()> definitions_;
};

}  // namespace

std::string schema() { return SchemaWriter().take(); }

}  // namespace tmaprobe::record
