import { fileURLToPath } from 'node:url';
import test from 'ava';
import { isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import { connect } from '@agent-workflow/protos/wire/connect';
import { startProcess } from '../servers/process.ts';
import { freePorts } from '../servers/real-process.ts';
import { withServer } from '../servers/real-suite.ts';
import { newPrefix } from '../servers/weaviate-collections.ts';
import { privateWeaviate } from '../servers/weaviate.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

const entry = fileURLToPath(import.meta.resolve('@agent-workflow/memory/main'));

const note = {
  owner: 'u:ada',
  content: 'the boat is blue',
  memoryType: 'semantic' as const,
  category: 'notes',
  metadataJson: Buffer.from('{}'),
};
const question = {
  owner: 'u:ada',
  query: 'which boat',
  selection: {},
  limit: 5,
  scoreThreshold: 0,
  retrievalStrategy: 'hybrid' as const,
  distanceMetric: 'cosine' as const,
  maxTokens: 1000,
};

withServer(test, privateWeaviate(), (server) => {
  test('the memory service waits for Weaviate, and says Unavailable while that cannot be reached', async (t) => {
    const { url, stop, kill, restart } = await server();
    await stop();
    const [port = 0, metricsPort = 0] = await freePorts(2);
    const env = {
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: String(port),
      WEAVIATE_URL: url,
      WEAVIATE_PREFIX: newPrefix(),
      WEAVIATE_TIMEOUT_MS: '5000',
      LOG_LEVEL: 'silent',
      METRICS_PORT: String(metricsPort),
      METRICS_HOST: '127.0.0.1',
    };
    await using memory = connect('memory', `127.0.0.1:${String(port)}`);
    const outcome = async (work: Promise<unknown>): Promise<ErrorCode | 'done'> =>
      work.then(
        () => 'done',
        (error: unknown) => (isServiceError(error) ? error.code : Promise.reject(error as Error)),
      );
    const searching = async (): Promise<ErrorCode | 'done'> => outcome(memory.search(question, within(byLoad(10_000))));
    const untilItIs = async (wanted: ErrorCode | 'done'): Promise<void> => {
      for (let seen = await searching(); seen !== wanted; seen = await searching()) t.is(seen, 'Unavailable');
    };

    const ready = async (): Promise<string> =>
      fetch(`http://127.0.0.1:${String(metricsPort)}/readyz`).then(
        async (answer) => answer.text(),
        () => 'not listening',
      );

    const starting = startProcess({ entry, env });
    // It is searched before the process listens, or after that.
    t.is(await searching(), 'Unavailable');
    await until(async () => (await ready()) === 'not ready\ndegraded: weaviate: it is unavailable\n');
    await restart();
    await using service = await starting;
    t.is(service.listensOn, `127.0.0.1:${String(port)}`);
    t.is(await outcome(memory.store({ ...note, memoryId: 'a' }, within(byLoad(10_000)))), 'done');
    await untilItIs('done');
    t.is(await ready(), 'ready\n');

    await kill();
    t.is(await outcome(memory.store({ ...note, memoryId: 'b' }, within(byLoad(10_000)))), 'Unavailable');
    t.is(await outcome(memory.get({ owner: 'u:ada', memoryId: 'a' }, within(byLoad(10_000)))), 'Unavailable');
    t.is(await searching(), 'Unavailable');
    t.is(await ready(), 'ready\ndegraded: weaviate: it is unavailable\n');
    await restart();
    await untilItIs('done');
    t.is(await ready(), 'ready\n');
    const { results } = await memory.search(question, within(byLoad(10_000)));
    t.deepEqual(
      results.map(({ memoryId }) => memoryId),
      ['a'],
    );
    t.is(await service.stop('SIGTERM'), 0);
  });
});
