import fc from 'fast-check';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { mutated } from '../mutated.ts';
import { serveA2a } from './service.ts';

const service = serveA2a(test);

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };

/** Calls that are taken as they are, by method. */
const good: Readonly<Record<string, object>> = {
  SendMessage: {
    message: {
      ...{ messageId: 'm', contextId: 'fuzz', role: 'ROLE_USER', metadata: { a: 1 }, referenceTaskIds: ['x'] },
      parts: [
        { text: 'hello', metadata: { b: [] } },
        { data: { c: 1 }, mediaType: 'application/json' },
        { raw: 'aGVsbG8=', filename: 'a.txt', mediaType: 'text/plain' },
        { url: 'https://example.com/a.png', mediaType: 'image/png' },
      ],
    },
    configuration: {
      ...{ acceptedOutputModes: ['text/plain'], historyLength: 1, returnImmediately: true },
      taskPushNotificationConfig: { url: 'https://example.com/x', authentication: { scheme: 'Bearer' } },
    },
    metadata: { d: 'e' },
  },
  GetTask: { id: 'x', historyLength: 2 },
  ListTasks: { contextId: 'fuzz', status: 'TASK_STATE_COMPLETED', pageSize: 2, pageToken: '', includeArtifacts: true },
  CancelTask: { id: 'x', metadata: {} },
  CreateTaskPushNotificationConfig: { taskId: 'x', url: 'https://example.com', token: 't' },
  GetTaskPushNotificationConfig: { taskId: 'x', id: 'y' },
};

const odd = [
  ...['../..', 'a/b', 'x'.repeat(300), 0.5],
  ...[{ text: 'a', data: 1 }, 'TASK_STATE_REJECTED', 'ROLE_AGENT'],
];

for (const [method, params] of Object.entries(good))
  test(`whatever stands anywhere in a call of ${method}, it is taken or refused, and never breaks`, async (t) => {
    t.timeout(byLoad(120_000));
    const body = { jsonrpc: '2.0', id: 1, method, params };
    await fc.assert(
      fc.asyncProperty(mutated([body], odd), async (call) => {
        const reply = await fetch(`${service.url()}/a2a/obedient`, {
          method: 'POST',
          headers,
          body: JSON.stringify(call),
        });
        const text = await reply.text();
        if (reply.status >= 500 || text.includes('-32603')) throw new Error(`${String(reply.status)} ${text}`);
      }),
      { numRuns: 120 },
    );
    t.pass();
  });

test('whatever stands in a path or a query, it is absent or refused', async (t) => {
  t.timeout(byLoad(120_000));
  const part = fc.oneof(fc.string({ minLength: 1, maxLength: 40 }), fc.constantFrom(':cancel', 'x:subscribe', '%00'));
  const rest = fc.constantFrom('', '/pushNotificationConfigs', '/pushNotificationConfigs/x');
  await fc.assert(
    fc.asyncProperty(part, rest, part, async (id, behind, value) => {
      const query = new URLSearchParams({ historyLength: value, pageSize: value, pageToken: value }).toString();
      const url = `${service.url()}/a2a/obedient/tasks/${encodeURIComponent(id)}${behind}?${query}`;
      const { status } = await fetch(url, { headers });
      return status < 500 && status >= 400;
    }),
    { numRuns: 100 },
  );
  t.pass();
});
