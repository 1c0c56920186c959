import fc from 'fast-check';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';
import { mutated } from '../mutated.ts';

const service = serve(test, 'echo', { DIALECTS: 'agui' });

/** A request that has everything that one can have. */
const whole = {
  ...{ threadId: 'fuzzed', runId: 'run', protocolVersion: '1.0', parentRunId: 'before', state: { turns: 1 } },
  messages: [
    { id: 'a', role: 'system', content: 'Be brief.' },
    { id: 'b', role: 'user', content: [{ type: 'text', text: 'hello' }] },
    {
      ...{ id: 'c', role: 'assistant', content: '' },
      toolCalls: [{ id: 'call', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { id: 'd', role: 'tool', toolCallId: 'call', content: 'a cat', error: 'none' },
    { id: 'e', role: 'reasoning', content: 'Hm.' },
    { id: 'f', role: 'activity', activityType: 'x', content: {} },
    { id: 'g', role: 'user', content: 'again' },
  ],
  tools: [{ name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }],
  context: [{ description: 'where', value: 'here' }],
  forwardedProps: { colour: 'blue' },
};
const answering = { ...whole, resume: [{ interruptId: 'x', status: 'resolved', payload: 'yes' }] };

const odd: readonly unknown[] = [
  ...['..', 'a/b', 'd:1', 'd:reasoning:0', '1.0', '99'],
  ...[{ type: 'image', source: { type: 'url', value: 'x' } }, { type: 'binary' }],
];

for (const [path, bodies] of Object.entries({ '': [whole, answering], '/connect': [{ threadId: 'fuzzed' }] }))
  test(`whatever stands anywhere in a body of /agui/{agent}${path}, it is taken or refused, and never breaks`, async (t) => {
    t.timeout(byLoad(120_000));
    let count = 0;
    await fc.assert(
      fc.asyncProperty(mutated(bodies, odd), fc.boolean(), async (body, hasPlace) => {
        // A thread of its own: runs of one thread wait for each other.
        count += 1;
        const own = JSON.stringify(body).replaceAll('"fuzzed"', `"fuzzed-${path}-${String(count)}"`.replace('/', ''));
        const reply = await fetch(`${service.url()}/agui/${testedAgent}${path}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(hasPlace && { 'last-event-id': `${crypto.randomUUID()}:1.0` }),
          },
          body: own,
        });
        const text = await reply.text();
        if (reply.status >= 500) throw new Error(`${String(reply.status)} ${text}`);
        if (reply.status === 200 && !/"type":"RUN_(?:FINISHED|ERROR)"/.test(text)) throw new Error(text);
      }),
      { numRuns: 150 },
    );
    t.pass();
  });
