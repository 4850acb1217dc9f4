import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.Inlinks;
import org.apache.nutch.indexer.IndexingException;
import org.apache.nutch.indexer.IndexingFilter;
import org.apache.nutch.indexer.NutchDocument;
import org.apache.nutch.parse.Parse;

/**
 * An indexing filter for Apache Nutch 1.x: near-duplicates are not indexed, or are marked.
 *
 * <p>Properties in nutch-site.xml: neardup.service (http://127.0.0.1:8000), neardup.token, and
 * neardup.action: "drop" (default), or "mark", which adds the fields neardup_of, neardup_cluster
 * and neardup_relation. If the service fails, pages are indexed as if there were no filter.
 */
public class NeardupIndexingFilter implements IndexingFilter {

    private Configuration conf;
    private NeardupClient client;
    private boolean drops;

    @Override
    public NutchDocument filter(
            NutchDocument doc, Parse parse, Text url, CrawlDatum datum, Inlinks inlinks)
            throws IndexingException {
        if (doc == null || parse.getText() == null || parse.getText().isBlank()) {
            return doc;
        }
        try {
            NeardupClient.Answer answer =
                    client.addText(url.toString(), parse.getData().getTitle(), parse.getText());
            if (answer.duplicate && drops) {
                return null;
            }
            doc.add("neardup_cluster", answer.cluster);
            if (answer.duplicate) {
                doc.add("neardup_of", answer.of);
                doc.add("neardup_relation", answer.relation);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } catch (java.io.IOException error) {
            System.getLogger("neardup").log(System.Logger.Level.WARNING, url + ": " + error);
        }
        return doc;
    }

    @Override
    public void setConf(Configuration conf) {
        this.conf = conf;
        String service = conf.get("neardup.service", "http://127.0.0.1:8000");
        client = new NeardupClient(service, conf.get("neardup.token"));
        drops = !"mark".equals(conf.get("neardup.action", "drop"));
    }

    @Override
    public Configuration getConf() {
        return conf;
    }
}
