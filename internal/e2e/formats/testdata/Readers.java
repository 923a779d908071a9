import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Properties;
import java.util.TreeMap;

/** Reads documents with Java's parsers. A line has a kind and a text in Base64. Its answer is key=value, both in Base64. */
public class Readers {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      String[] parts = line.split(" ", -1);
      byte[] text = Base64.getDecoder().decode(parts[1]);
      StringBuilder out = new StringBuilder();
      for (var e : new TreeMap<Object, Object>(read(parts[0], text)).entrySet()) {
        out.append(encoded(e.getKey())).append('=').append(encoded(e.getValue())).append(' ');
      }
      System.out.println(out);
    }
  }

  static String encoded(Object s) {
    return Base64.getEncoder().withoutPadding().encodeToString(s.toString().getBytes(StandardCharsets.UTF_8));
  }

  static Properties read(String kind, byte[] text) throws Exception {
    Properties p = new Properties();
    String url = new String(text, StandardCharsets.UTF_8);
    switch (kind) {
      case "properties":
        p.load(new ByteArrayInputStream(text));
        return p;
      case "postgresql":
        return org.postgresql.Driver.parseURL(url, new Properties());
      case "mariadb":
        var parsed = org.mariadb.jdbc.UrlParser.parse(url);
        var address = parsed.getHostAddresses().get(0);
        p.setProperty("host", address.host + ":" + address.port);
        p.setProperty("database", parsed.getDatabase());
        p.setProperty("user", parsed.getUsername());
        p.setProperty("password", parsed.getPassword());
        return p;
      default:
        throw new IllegalArgumentException(kind);
    }
  }
}
