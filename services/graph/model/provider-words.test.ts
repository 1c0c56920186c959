import { failureReasons, modelParameters } from '@agent-workflow/kit/errors';
import test from 'ava';
import fc from 'fast-check';
import { readProviderFault } from './provider-words.ts';

const openai = (error: object): string => JSON.stringify({ error });

for (const [what, status, body, expected] of [
  [
    'a context that is too long (OpenAI)',
    400,
    openai({
      message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    }),
    { reason: 'context_too_long', parameter: 'messages', words: /^context_length_exceeded: .*8192 tokens/ },
  ],
  [
    'a context that is too long (vLLM)',
    400,
    JSON.stringify({ object: 'error', message: 'The maximum context length is 4096 tokens', code: 400 }),
    { reason: 'context_too_long', parameter: undefined, words: /4096/ },
  ],
  [
    'a parameter that is not supported',
    400,
    openai({
      message: "Unsupported parameter: 'max_tokens' is not supported",
      type: 'invalid_request_error',
      param: 'max_tokens',
    }),
    { reason: 'refused_by_provider', parameter: 'max_tokens', words: /Unsupported parameter/ },
  ],
  [
    'a parameter that only the text names',
    422,
    JSON.stringify({ detail: "the value of 'temperature' is invalid" }),
    { reason: 'refused_by_provider', parameter: 'temperature', words: /temperature/ },
  ],
  [
    'a parameter of no list',
    400,
    openai({ message: 'no', param: 'own_invention' }),
    { reason: 'refused_by_provider', parameter: undefined, words: /own_invention/ },
  ],
  [
    'content that is filtered',
    400,
    openai({ code: 'content_filter', message: 'policy' }),
    { reason: 'content_filtered', parameter: undefined, words: /content_filter/ },
  ],
  [
    'a page of a proxy',
    502,
    '<html>Bad Gateway</html>',
    { reason: 'provider_error', parameter: undefined, words: /Gateway/ },
  ],
  [
    'a quota',
    429,
    openai({ code: 'insufficient_quota' }),
    { reason: 'rate_limited', parameter: undefined, words: /quota/ },
  ],
  ['nothing', 401, '', { reason: 'credentials_refused', parameter: undefined, words: /^$/ }],
  ['what is no error', 404, '[null]', { reason: 'not_found', parameter: undefined, words: /^$/ }],
  [
    'an error in a stream',
    undefined,
    openai({ message: 'overloaded' }),
    { reason: 'provider_error', parameter: undefined, words: /overloaded/ },
  ],
] as const)
  test(`what a provider writes is a reason and a parameter of closed lists, and words for the log: ${what}`, (t) => {
    const { words, ...fault } = readProviderFault({ status, body }, 'nobody sent this');
    const { words: pattern, ...rest } = expected;
    t.deepEqual(fault, rest);
    t.regex(words, pattern);
  });

test('words of the request and the key are not kept, and those that errors usually have are', (t) => {
  const sent = 'My PIN is Ananas42, says the user\nsk-proj-abcdefgh12345678';
  const message =
    "Invalid request: 'my pin is ananas42, SAYS the user' (key sk-proj-abcd****5678, request req_0a1b2c3d4e5f6a7b) is not supported";
  const { words } = readProviderFault({ status: 400, body: openai({ message }) }, sent);
  t.regex(words, /^Invalid request: '/);
  t.regex(words, /is not supported$/);
  t.notRegex(words, /ananas|pin|says|sk|proj|abcd|5678|0a1b/i);
});

test('no word of any request is in what is logged, however the provider repeats it', (t) => {
  const word = fc.stringMatching(/^[a-zäöü]{4,12}$/).filter((text) => text !== '');
  const usual = 'invalid request the model context length is tokens not supported'.split(' ');
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 30 }), fc.integer({ min: 0, max: 99 }), (secret, seed) => {
      const own = secret.map((each) => `zq${each}`);
      const mixed = own.flatMap((each, index) => [usual[(index + seed) % usual.length] ?? '', each.toUpperCase()]);
      const message = mixed.join([' ', '-', '","', '\n'][seed % 4] ?? ' ');
      for (const body of [message, openai({ message }), openai({ code: message, param: message, type: message })]) {
        const fault = readProviderFault({ status: 400, body }, JSON.stringify({ content: own.join(' ') }));
        if (own.some((each) => fault.words.toLowerCase().includes(each))) return false;
        if (Buffer.byteLength(fault.words) > 1024) return false;
      }
      return true;
    }),
  );
  t.pass();
});

test('what is logged has at most 1 KiB, and reason and parameter are of their lists whatever is written', (t) => {
  fc.assert(
    fc.property(
      fc.oneof(fc.json(), fc.string({ maxLength: 5000 })),
      fc.integer({ min: 300, max: 599 }),
      (body, status) => {
        const { reason, parameter, words } = readProviderFault({ status, body }, '');
        return (
          Buffer.byteLength(words) <= 1024 &&
          failureReasons.includes(reason) &&
          (parameter === undefined || modelParameters.includes(parameter))
        );
      },
    ),
  );
  const { words } = readProviderFault({ status: 500, body: openai({ message: 'ü '.repeat(5000) }) }, '');
  t.true(Buffer.byteLength(words) <= 1024 && words.endsWith('…') && !words.includes('\uFFFD'), words);
});

test('a large request and a long reply are read in little time', (t) => {
  const sent = 'lorem ipsum dolor '.repeat(500_000);
  const message = Array.from({ length: 400 }, (_, index) => `w${String(index)}`).join(' ');
  const before = performance.now();
  readProviderFault({ status: 400, body: openai({ message }) }, sent);
  t.true(performance.now() - before < 10_000);
});
