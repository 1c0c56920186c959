import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { serveOpenai } from './service.ts';

/** The cases that Open Responses has for a server, each with what its answer must hold beside its schema. */
const service = serveOpenai(test);

const nullable = (schema: object): object => ({ anyOf: [schema, { type: 'null' }] });
const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const object = (properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});
const status = { enum: ['in_progress', 'completed', 'incomplete'] };
const outputText = object({
  type: { const: 'output_text' },
  text,
  annotations: { type: 'array' },
  logprobs: { type: 'array' },
});

const item = {
  anyOf: [
    object({
      ...{ type: { const: 'message' }, id: text, status, role: { const: 'assistant' } },
      content: { type: 'array', items: outputText },
    }),
    object({ type: { const: 'function_call' }, id: text, call_id: text, name: text, arguments: text, status }),
    object({ type: { const: 'reasoning' }, id: text, summary: { type: 'array' } }),
  ],
};

const tool = object({
  ...{ type: { const: 'function' }, name: text, description: nullable(text) },
  ...{ parameters: nullable({ type: 'object' }), strict: nullable({ type: 'boolean' }) },
});

const usage = object({
  ...{ input_tokens: count, output_tokens: count, total_tokens: count },
  input_tokens_details: object({ cached_tokens: count }),
  output_tokens_details: object({ reasoning_tokens: count }),
});

/** A response with every field that the specification requires, null where there is nothing. */
const responseSchema = object({
  ...{ id: text, object: { const: 'response' }, created_at: count, completed_at: nullable(count) },
  status: { enum: ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
  incomplete_details: nullable(object({ reason: text })),
  ...{ model: text, previous_response_id: nullable(text), instructions: nullable({ type: ['string', 'array'] }) },
  output: { type: 'array', items: item },
  error: nullable(object({ code: text, message: text })),
  tools: { type: 'array', items: tool },
  tool_choice: { type: ['string', 'object'] },
  truncation: { enum: ['auto', 'disabled'] },
  parallel_tool_calls: { type: 'boolean' },
  text: object({ format: object({ type: text }) }),
  ...{ top_p: { type: 'number' }, presence_penalty: { type: 'number' }, frequency_penalty: { type: 'number' } },
  ...{ top_logprobs: count, temperature: { type: 'number' } },
  reasoning: nullable(object({ effort: nullable(text), summary: nullable(text) })),
  usage: nullable(usage),
  ...{ max_output_tokens: nullable(count), max_tool_calls: nullable(count) },
  ...{ store: { type: 'boolean' }, background: { type: 'boolean' }, service_tier: text, metadata: { type: 'object' } },
  ...{ safety_identifier: nullable(text), prompt_cache_key: nullable(text) },
});

const ajv = new Ajv2020({ allowUnionTypes: true, strictTypes: false });
const isResponse = ajv.compile<ResponseBody>(responseSchema);

interface ResponseBody {
  readonly id: string;
  readonly status: string;
  readonly output: readonly {
    readonly type: string;
    readonly content?: readonly { readonly text: string }[];
    readonly name?: string;
    readonly call_id?: string;
  }[];
}

const post = (body: object): Promise<Response> =>
  fetch(`${service.url()}/openai/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'obedient', ...body }),
  });

/** @throws Error with what is wrong with the response */
async function respond(body: object): Promise<ResponseBody> {
  const reply = await post(body);
  const made: unknown = await reply.json();
  if (reply.status !== 200 || !isResponse(made)) throw new Error(JSON.stringify([made, isResponse.errors]));
  return made;
}

const message = (role: string, content: unknown): object => ({ type: 'message', role, content });
const answerIn = ({ output }: ResponseBody): string =>
  output.flatMap(({ content = [] }) => content.map((part) => part.text)).join('');

/** A picture of one pixel. */
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const cases: Readonly<Record<string, () => Promise<boolean>>> = {
  'a text is answered': async () => {
    const made = await respond({ input: [message('user', 'Say hello.')] });
    return made.status === 'completed' && answerIn(made) === 'you said Say hello.';
  },
  'a stream has events of the specification and ends with the response': async () => {
    const body = await (await post({ input: [message('user', 'Count.')], stream: true })).text();
    const events = body
      .split('\n\n')
      .filter(Boolean)
      .map((part) => {
        const [name = '', data = ''] = part.split('\n');
        const event = JSON.parse(data.slice('data: '.length)) as {
          type: string;
          sequence_number: number;
          response?: unknown;
        };
        if (name !== `event: ${event.type}`) throw new Error(`${name} is ${event.type}`);
        return event;
      });
    const last = events.at(-1);
    const wrong = events.filter(({ response }) => response !== undefined && !isResponse(response));
    return (
      wrong.length === 0 &&
      events.every(({ sequence_number: number }, index) => number === index) &&
      events.some(({ type }) => type === 'response.output_text.delta') &&
      last?.type === 'response.completed'
    );
  },
  'a prompt of the system is taken': async () => {
    const made = await respond({ input: [message('system', 'You are a pirate.'), message('user', 'Ahoy')] });
    return answerIn(made) === 'you said Ahoy';
  },
  'a function is called': async () => {
    const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] };
    const camera = { type: 'function', name: 'look', description: 'Looks', parameters };
    const made = await respond({ input: [message('user', 'call look')], tools: [camera] });
    const call = made.output.find(({ type }) => type === 'function_call');
    return call?.name === 'look' && call.call_id !== undefined;
  },
  'a picture is taken': async () => {
    const content = [
      { type: 'input_text', text: 'What is here?' },
      { type: 'input_image', image_url: picture, detail: 'auto' },
    ];
    const made = await respond({ input: [message('user', content)] });
    const kept = await fetch(`${service.url()}/openai/v1/responses/${made.id}/input_items`);
    const { data } = (await kept.json()) as { readonly data: readonly { readonly content: readonly object[] }[] };
    return (
      answerIn(made) === 'you said What is here?' &&
      data[0]?.content.some((part) => 'image_url' in part && part.image_url === picture) === true
    );
  },
  'a conversation of several turns is taken': async () => {
    const turns = [message('user', 'I am Ada.'), message('assistant', 'Hello Ada.'), message('user', 'Who am I?')];
    return answerIn(await respond({ input: turns })) === 'you said Who am I?';
  },
};

let passed = 0;
for (const [title, check] of Object.entries(cases))
  test(`Open Responses: ${title}`, async (t) => {
    t.true(await check());
    passed += 1;
  });

test.after('the page has the score', (t) => {
  const page = readFileSync(new URL('../../../gateway/guide/openai.md', import.meta.url), 'utf8');
  t.log(`${String(passed)} of ${String(Object.keys(cases).length)} cases`);
  t.true(page.includes(`| Open Responses, acceptance | ${String(passed)} of ${String(Object.keys(cases).length)} |`));
});
