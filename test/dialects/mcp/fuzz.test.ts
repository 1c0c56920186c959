import fc from 'fast-check';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { modern, serveMcp, tasks } from './service.ts';

const service = serveMcp(test);

const can = { ...tasks, elicitation: {}, sampling: {} };

/** Requests that are taken as they are. */
const good: readonly { readonly message: object; readonly headers: object }[] = [
  modern('server/discover', {}, can),
  modern('tools/list', { cursor: '0' }, can),
  modern('tools/call', { name: 'greet', arguments: { name: 'Ada' } }, can),
  modern('tools/call', { name: 'typing', arguments: { message: 'hello', thread_id: 't', state: { turns: 1 } } }, can),
  modern('tools/call', { name: 'confirm_delete', inputResponses: { confirm: { action: 'accept' } } }, can),
  modern('tools/call', { name: 'test_elicitation', arguments: { message: 'm' }, requestState: 'x' }, can),
  modern('resources/list', { cursor: 'threads:x' }, can),
  modern('resources/read', { uri: 'test://template/1/data' }, can),
  modern('resources/read', { uri: 'threads://t' }, can),
  modern('prompts/get', { name: 'test_simple_prompt', arguments: { arg1: 'a' } }, can),
  modern('completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'b' } }, can),
  modern('tasks/get', { taskId: 'x' }, can),
  modern('tasks/update', { taskId: 'x', inputResponses: { a: { action: 'accept' } } }, can),
  { message: { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }, headers: {} },
  { message: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, headers: {} },
  { message: { jsonrpc: '2.0', id: 'a b', result: { action: 'accept' } }, headers: {} },
];

/** The places of a value, each as the steps to it. */
const placesIn = (value: unknown): string[][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => [[key], ...placesIn(inner).map((rest) => [key, ...rest])])
    : [];

/** A copy with another value at a place; `undefined` removes what is there. */
function changed(value: unknown, [step, ...rest]: readonly string[], to: unknown): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return to;
  return { ...value, [step]: changed((value as Readonly<Record<string, unknown>>)[step], rest, to) };
}

const values = fc.oneof(
  fc.constantFrom(undefined, null, '', 0, -1, 1e308, true, [], {}, '2026-07-28', 'tools/call', '__proto__', '\ud800'),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ maxLength: 300, unit: 'binary' }),
);

test('whatever a message holds, it is answered or refused, and never fails the service', async (t) => {
  t.timeout(byLoad(300_000));
  const cases = fc
    .constantFrom(...good)
    .chain((request) =>
      fc.record({ request: fc.constant(request), at: fc.constantFrom(...placesIn(request.message)), to: values }),
    );
  await fc.assert(
    fc.asyncProperty(cases, async ({ request: { message, headers }, at, to }) => {
      const body = changed(message, at, to) as object;
      const reply = await service.send(body, headers as Readonly<Record<string, string>>);
      if (reply.status >= 500) throw new Error(`${String(reply.status)}: ${JSON.stringify(body)}: ${reply.text}`);
      if (JSON.stringify(reply.messages).includes('-32603'))
        throw new Error(`an internal error: ${JSON.stringify(body)}: ${reply.text}`);
    }),
    { numRuns: 300 },
  );
  t.pass();
});
