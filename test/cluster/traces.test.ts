import test from 'ava';
import { withCluster } from '../servers/cluster-suite.ts';
import type { ClusterOptions } from '../servers/cluster.ts';
import { openCollector, type Collector } from '../servers/collector.ts';
import { isOneTraceOfAll, streamRun } from '../observe/trace.ts';

let collector: Collector | undefined;
test.after.always(() => collector?.[Symbol.asyncDispose]());

const options = async (): Promise<ClusterOptions> => {
  collector = await openCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, DRAIN_SECONDS: '1' };
  return { agent: 'remembering', gateways: 1, threads: 1, executions: 1, env };
};

withCluster(test, options, (cluster) => {
  test('one streamed request is one trace in the spans of four processes, from its caller to the last commit', async (t) => {
    const [url = ''] = cluster().urls;
    const traced = await streamRun(url);
    const { gateways, executions, threads, memories, replicas } = cluster();
    t.is(new Set(replicas.map(({ pid }) => pid())).size, 4);
    // What ends sends its last spans.
    for (const kind of [gateways, executions, [...threads, ...memories]])
      t.deepEqual(
        await Promise.all(kind.map(({ stop }) => stop())),
        kind.map(() => 0),
      );
    if (!collector) throw new Error('the collector is not open');
    isOneTraceOfAll(t, collector, traced);
  });
});
