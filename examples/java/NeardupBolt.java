import java.io.IOException;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.stormcrawler.Constants;
import org.apache.stormcrawler.Metadata;
import org.apache.stormcrawler.persistence.Status;

/**
 * A bolt for Apache StormCrawler, between the fetcher and the parser: new pages go on; duplicates
 * are reported to the status stream as fetched, with neardup.of in their metadata.
 *
 * <p>Configuration: neardup.service (http://127.0.0.1:8000) and neardup.token. If the service
 * fails, pages go on unchecked. Before StormCrawler 3.0 the packages were com.digitalpebble.*.
 */
public class NeardupBolt extends BaseRichBolt {

    private transient NeardupClient client;
    private transient OutputCollector collector;

    @Override
    public void prepare(
            Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        Object service = conf.getOrDefault("neardup.service", "http://127.0.0.1:8000");
        client = new NeardupClient(service.toString(), (String) conf.get("neardup.token"));
    }

    @Override
    public void execute(Tuple tuple) {
        String url = tuple.getStringByField("url");
        byte[] content = tuple.getBinaryByField("content");
        Metadata metadata = (Metadata) tuple.getValueByField("metadata");
        if (isDuplicate(url, content, metadata)) {
            collector.emit(
                    Constants.StatusStreamName, tuple, new Values(url, metadata, Status.FETCHED));
        } else {
            collector.emit(tuple, new Values(url, content, metadata));
        }
        collector.ack(tuple);
    }

    private boolean isDuplicate(String url, byte[] content, Metadata metadata) {
        String kind = metadata.getFirstValue("content-type");
        if (content.length == 0 || (kind != null && !kind.startsWith("text/html"))) {
            return false;
        }
        try {
            NeardupClient.Answer answer = client.addHtml(url, content, kind);
            metadata.setValue("neardup.cluster", answer.cluster);
            if (answer.duplicate) {
                metadata.setValue("neardup.of", answer.of);
                metadata.setValue("neardup.relation", answer.relation);
            }
            return answer.duplicate;
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } catch (IOException error) {
            System.getLogger("neardup").log(System.Logger.Level.WARNING, url + ": " + error);
        }
        return false;
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("url", "content", "metadata"));
        declarer.declareStream(
                Constants.StatusStreamName, new Fields("url", "metadata", "status"));
    }
}
