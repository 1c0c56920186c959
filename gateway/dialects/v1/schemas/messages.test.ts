import { isServiceError } from '@agent-workflow/kit/errors';
import { readMessage } from '@agent-workflow/protos/message';
import test from 'ava';
import fc from 'fast-check';
import { nullRemover } from '../../../http/nulls.ts';
import { validator } from '../../../middleware/validate.ts';
import { RunMessages } from './messages.ts';

const odd = fc.constantFrom(
  undefined,
  null,
  true,
  0,
  -1,
  5,
  1.5,
  1e300,
  '',
  '0',
  'x',
  '.',
  '..',
  'a/b',
  '\ud800',
  'x'.repeat(257),
  '2026-01-02T03:04:05Z',
  [],
  [5],
  {},
);
const types = fc.constantFrom('text', 'reasoning', 'error', 'tool_call', 'remote_tool_call', 'tool_result', 'hologram');
const fields = [
  'text',
  'summary',
  'details',
  'message',
  'id',
  'name',
  'args',
  'tool_type',
  'call_id',
  'output',
  'status',
  'is_error',
];
const blocks = fc
  .tuple(fc.oneof(types, odd), fc.dictionary(fc.constantFrom(...fields), odd))
  .map(([type, rest]) => ({ type, ...rest }));
const contents = fc.oneof(
  { weight: 3, arbitrary: fc.array(fc.oneof({ weight: 9, arbitrary: blocks }, odd), { maxLength: 2 }) },
  fc.string(),
  odd,
);
const mostly = (value: unknown) => fc.oneof({ weight: 5, arbitrary: fc.constant(value) }, odd);
const messages = fc.record(
  {
    message_id: mostly('m'),
    role: mostly('user'),
    content: contents,
    tools_calls: mostly([]),
    metadata: mostly({}),
    timestamp: mostly(1_767_323_045),
  },
  { requiredKeys: ['role', 'content'] },
);

const passes = (check: () => void): boolean => {
  try {
    check();
    return true;
  } catch (error) {
    if (isServiceError(error, 'Invalid')) return false;
    throw error;
  }
};

const validate = validator(RunMessages.items);
const removeNulls = nullRemover(RunMessages.items);
const defaults = { newId: () => 'new', now: new Date() };

test('what the document says of a message is what is held to: nothing passes one that the other refuses', (t) => {
  let passed = 0;
  fc.assert(
    fc.property(messages, (given) => {
      const message = JSON.parse(JSON.stringify(given)) as { timestamp?: unknown };
      const asSent = structuredClone(message);
      removeNulls?.(asSent);
      const bySchema = passes(() => validate(asSent, () => 'body'));
      const byRules = passes(() => readMessage(message, ['body'], defaults));
      // The schema calls a time a text or a number; which texts are times, only the rules say.
      const isLooseTime = typeof message.timestamp === 'string' || typeof message.timestamp === 'number';
      passed += Number(byRules);
      return bySchema === byRules || (isLooseTime && bySchema);
    }),
    { numRuns: 5000 },
  );
  t.true(passed > 100, String(passed));
});
