import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Asks a neardup service whether a page is new. Java 11 or newer, no dependencies, safe for threads.
 *
 * <p>A busy service (503) is asked again after the time that it names. Sending a page twice is
 * harmless.
 */
public final class NeardupClient {

    private static final int TRIES = 5;

    private final HttpClient http =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
    private final String service;
    private final String token;

    /** The service's address, such as http://127.0.0.1:8000, and a write token, or null. */
    public NeardupClient(String service, String token) {
        this.service = service.endsWith("/") ? service.substring(0, service.length() - 1) : service;
        this.token = token;
    }

    /** What the service answers; "of" is null if there is no similar page. */
    public static final class Answer {
        public final boolean duplicate;
        public final String of;
        public final String cluster;
        public final String relation;
        public final double similarity;

        Answer(String json) {
            duplicate = "true".equals(plain(json, "duplicate"));
            of = text(json, "of");
            cluster = text(json, "cluster");
            relation = text(json, "relation");
            String number = plain(json, "similarity");
            similarity = number == null || number.equals("null") ? 0.0 : Double.parseDouble(number);
        }
    }

    /** Add a page as it was fetched; the service finds its charset. */
    public Answer addHtml(String url, byte[] content, String contentType)
            throws IOException, InterruptedException {
        String kind = contentType == null || contentType.isEmpty() ? "text/html" : contentType;
        String query = "?url=" + URLEncoder.encode(url, StandardCharsets.UTF_8);
        return send(query, content, kind);
    }

    /** Add a page of which only the text is known. */
    public Answer addText(String url, String title, String text)
            throws IOException, InterruptedException {
        String json =
                "{\"url\":" + quoted(url) + ",\"title\":" + quoted(title) + ",\"text\":" + quoted(text) + "}";
        return send("", json.getBytes(StandardCharsets.UTF_8), "application/json");
    }

    private Answer send(String query, byte[] body, String kind)
            throws IOException, InterruptedException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(service + "/v1/pages" + query))
                        .timeout(Duration.ofSeconds(90))
                        .header("Content-Type", kind)
                        .POST(BodyPublishers.ofByteArray(body));
        if (token != null && !token.isEmpty()) {
            request.header("Authorization", "Bearer " + token);
        }
        for (int tried = 1; ; tried++) {
            HttpResponse<String> response =
                    http.send(request.build(), BodyHandlers.ofString(StandardCharsets.UTF_8));
            if (response.statusCode() == 200) {
                return new Answer(response.body());
            }
            if (response.statusCode() != 503 || tried == TRIES) {
                throw new IOException(
                        "neardup: " + response.statusCode() + " " + text(response.body(), "detail"));
            }
            String seconds = response.headers().firstValue("Retry-After").orElse("1");
            Thread.sleep(1000L * Math.min(Long.parseLong(seconds), 30));
        }
    }

    static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char sign : (text == null ? "" : text).toCharArray()) {
            if (sign == '"' || sign == '\\') {
                json.append('\\').append(sign);
            } else if (sign < ' ' || Character.isSurrogate(sign)) {
                json.append(String.format("\\u%04x", (int) sign));
            } else {
                json.append(sign);
            }
        }
        return json.append('"').toString();
    }

    /** A field that is no text. Inside of texts quotes are escaped, so none is mistaken for it. */
    static String plain(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\\s*([^\",}\\s]+)").matcher(json);
        return found.find() ? found.group(1) : null;
    }

    static String text(String json, String name) {
        String value = "\"" + name + "\":\\s*\"((?:[^\"\\\\]++|\\\\.)*+)\"";
        Matcher found = Pattern.compile(value).matcher(json);
        if (!found.find()) {
            return null;
        }
        Matcher escape = Pattern.compile("\\\\(u([0-9a-fA-F]{4})|.)").matcher(found.group(1));
        StringBuilder plain = new StringBuilder();
        while (escape.find()) {
            char sign = escape.group(1).charAt(0);
            int place = "nrtbf".indexOf(sign);
            String meant = String.valueOf(place < 0 ? sign : "\n\r\t\b\f".charAt(place));
            if (escape.group(2) != null) {
                meant = String.valueOf((char) Integer.parseInt(escape.group(2), 16));
            }
            escape.appendReplacement(plain, Matcher.quoteReplacement(meant));
        }
        return escape.appendTail(plain).toString();
    }
}
