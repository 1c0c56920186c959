import test from 'ava';
import { user } from '../servers/client.ts';
import { serve } from './service.ts';

const service = serve(test, 'reporting');
const quiet = serve(test);

const usage = {
  models: {
    large: { input_tokens: 120, output_tokens: 12, finish_reasons: { stop: 1 } },
    small: { input_tokens: 5, output_tokens: 1, finish_reasons: { length: 1 } },
  },
  input_tokens: 125,
  output_tokens: 13,
};

interface Result {
  readonly metadata: { readonly usage?: unknown };
  readonly meta: { readonly run_id: string };
}
interface Run {
  readonly run_id: string;
  readonly status: string;
  readonly usage?: unknown;
}

for (const granularity of ['low', 'partial', 'full'] as const) {
  test(`the tokens of a run are in its result, in the last event of its stream and in what is read of it: ${granularity}`, async (t) => {
    const config = { thread_id: `used-${granularity}` };
    const body = { messages: [user('hello')], config, response_granularity: granularity };
    const { metadata, meta } = (await service.data(
      t,
      'invokeGraph',
      service.send('POST', '/v1/graph/invoke', body),
    )) as Result;
    t.deepEqual(metadata.usage, usage);
    const run = (await service.data(t, 'getRun', service.send('GET', `/v1/runs/${meta.run_id}`))) as Run;
    t.deepEqual(run.usage, usage);
    const path = `/v1/threads/${config.thread_id}/runs`;
    const { runs } = (await service.data(t, 'listRuns', service.send('GET', path))) as {
      readonly runs: readonly Run[];
    };
    t.deepEqual(
      runs.map((one) => one.usage),
      [usage],
    );
    const events = await (await fetch(`${service.url()}/v1/runs/${meta.run_id}/stream`)).text();
    const last = /^data: (.*)$/m.exec(events.trimEnd().split('\n\n').at(-1) ?? '')?.[1] ?? '';
    t.deepEqual((JSON.parse(last) as { readonly data: Result }).data.metadata.usage, usage);
  });
}

test('a run that failed has the tokens that it took', async (t) => {
  const { body } = await service.send('POST', '/v1/runs', { messages: [user('fail')] });
  const { run_id: runId } = body.data as Run;
  t.is((await service.send('GET', `/v1/runs/${runId}/wait`)).status, 500);
  const run = (await service.data(t, 'getRun', service.send('GET', `/v1/runs/${runId}`))) as Run;
  t.deepEqual([run.status, run.usage], ['failed', usage]);
});

test('a run that reports nothing shows no usage', async (t) => {
  const { body } = await quiet.send('POST', '/v1/graph/invoke', { messages: [user('hello')] });
  const { metadata, meta } = body.data as Result;
  t.false('usage' in metadata);
  const run = await quiet.send('GET', `/v1/runs/${meta.run_id}`);
  t.false('usage' in (run.body.data as Run));
});
