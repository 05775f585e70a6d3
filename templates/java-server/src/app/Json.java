package app;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Reads and writes JSON, since the JDK has no reader. A value is a Map, List, String, BigDecimal, Boolean or null. In a project
 * with Jackson or Gson, use that instead.
 */
final class Json {
    /** A text that is not JSON, or too deep. */
    static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1;

        Malformed(String message) {
            super(message);
        }
    }

    /** Deeper bodies are refused: each level is a call. */
    private static final int MAX_DEPTH = 64;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Returns the object that a text is. Throws Malformed when it is not JSON, or not an object. */
    static Map<String, Object> parseObject(String text) {
        var reader = new Json(text);
        var value = reader.value(0);
        if (reader.peek() != 0) throw reader.malformed();
        if (!(value instanceof Map)) throw new Malformed("not a JSON object");
        return asObject(value);
    }

    /** Returns a value as an object; an empty one when it is none. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> asObject(Object value) {
        return value instanceof Map ? (Map<String, Object>) value : Map.of();
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> quote((String) entry.getKey()) + ":" + write(entry.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        }
        return value instanceof String string ? quote(string) : String.valueOf(value);
    }

    private static String quote(String string) {
        var quoted = new StringBuilder("\"");
        for (var letter : string.toCharArray()) {
            if (letter == '"' || letter == '\\') quoted.append('\\').append(letter);
            else if (letter < ' ') quoted.append(String.format("\\u%04x", (int) letter));
            else quoted.append(letter);
        }
        return quoted.append('"').toString();
    }

    private Object value(int depth) {
        if (depth > MAX_DEPTH) throw new Malformed("deeper than " + MAX_DEPTH + " levels");
        return switch (peek()) {
            case '{' -> object(depth);
            case '[' -> array(depth);
            case '"' -> string();
            case 't' -> literal("true", true);
            case 'f' -> literal("false", false);
            case 'n' -> literal("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object(int depth) {
        var object = new LinkedHashMap<String, Object>();
        at++;
        while (peek() != '}') {
            if (!object.isEmpty()) expect(',');
            if (peek() != '"') throw malformed();
            var name = string();
            expect(':');
            object.put(name, value(depth + 1));
        }
        at++;
        return object;
    }

    private List<Object> array(int depth) {
        var array = new ArrayList<Object>();
        at++;
        while (peek() != ']') {
            if (!array.isEmpty()) expect(',');
            array.add(value(depth + 1));
        }
        at++;
        return array;
    }

    private String string() {
        var string = new StringBuilder();
        for (at++; current() != '"'; at++) {
            if (current() < ' ') throw malformed();
            string.append(current() == '\\' ? escaped() : current());
        }
        at++;
        return string.toString();
    }

    private char escaped() {
        at++;
        return switch (current()) {
            case '"', '\\', '/' -> current();
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> unicode();
            default -> throw malformed();
        };
    }

    private char unicode() {
        var end = Math.min(at + 5, text.length());
        var digits = text.substring(at + 1, end);
        if (!digits.matches("[0-9a-fA-F]{4}")) throw malformed();
        at += 4;
        return (char) Integer.parseInt(digits, 16);
    }

    private Object literal(String word, Object value) {
        if (!text.startsWith(word, at)) throw malformed();
        at += word.length();
        return value;
    }

    private BigDecimal number() {
        var start = at;
        while ("+-.0123456789eE".indexOf(current()) >= 0) at++;
        var number = text.substring(start, at);
        if (!number.matches("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d{1,3})?")) throw malformed();
        return new BigDecimal(number);
    }

    private void expect(char wanted) {
        if (peek() != wanted) throw malformed();
        at++;
    }

    /** Skips white space, and returns the letter after it; 0 at the end. */
    private char peek() {
        while (" \t\r\n".indexOf(current()) >= 0) at++;
        return current();
    }

    private char current() {
        return at < text.length() ? text.charAt(at) : 0;
    }

    private Malformed malformed() {
        return new Malformed("not JSON at letter " + at);
    }
}
