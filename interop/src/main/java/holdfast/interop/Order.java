package holdfast.interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** What is to be done, and with what. */
record Order(String verb, JsonObject options) {
    /** The same with another verb. */
    Order as(String verb) {
        return new Order(verb, options);
    }

    boolean has(String field) {
        return options.has(field);
    }

    String text(String field) {
        return required(field).getAsString();
    }

    String text(String field, String otherwise) {
        return has(field) ? text(field) : otherwise;
    }

    long number(String field) {
        return required(field).getAsLong();
    }

    long number(String field, long otherwise) {
        return has(field) ? number(field) : otherwise;
    }

    int integer(String field) {
        return Math.toIntExact(number(field));
    }

    boolean flag(String field) {
        return has(field) && required(field).getAsBoolean();
    }

    List<String> texts(String field) {
        return elements(field).map(JsonElement::getAsString).toList();
    }

    /** What it says of these fields, where it says something. */
    JsonObject only(String... fields) {
        JsonObject picked = new JsonObject();
        for (String field : fields) {
            if (has(field)) {
                picked.add(field, options.get(field));
            }
        }
        return picked;
    }

    /** The same for each part of this one. */
    List<Order> parts(String field) {
        return elements(field).map(part -> new Order(verb, part.getAsJsonObject())).toList();
    }

    private Stream<JsonElement> elements(String field) {
        JsonArray array = required(field).getAsJsonArray();
        return StreamSupport.stream(array.spliterator(), false);
    }

    private JsonElement required(String field) {
        JsonElement value = options.get(field);
        if (value == null) {
            throw new IllegalArgumentException("the order " + verb + " lacks \"" + field + "\"");
        }
        return value;
    }
}
