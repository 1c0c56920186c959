import { setTimeout as delay } from 'node:timers/promises';
import {
  END,
  field,
  interrupt,
  offerMcp,
  send,
  START,
  StateGraph,
  userError,
  type Block,
  type BranchContext,
  type McpCall,
  type McpOffer,
  type NodeContext,
} from '@agent-workflow/graph';

type Fields = Readonly<Record<string, unknown>>;
type Tool = NonNullable<McpOffer['tools']>[number];

/** What is asked for together, each under its key. */
type Round = Readonly<Record<string, Fields>>;

/** What is asked of this agent: under its name, what it does. A question is answered before `end` is called. */
interface Served {
  readonly tool?: Omit<Tool, 'name' | 'inputSchema'> & { readonly inputSchema?: Fields };
  readonly rounds?: (call: McpCall) => readonly Round[];
  readonly end: (call: McpCall, answers: Fields, context: NodeContext) => unknown;
}

/** The smallest PNG there is, and the smallest WAV. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const image: Block = { type: 'image', data: png, mimeType: 'image/png' };
const resource = (uri: string, mimeType: string, text: string): Block => ({
  type: 'resource',
  resource: { uri, mimeType, text },
});

const objectOf = (properties: Fields, required: readonly string[] = Object.keys(properties)): Fields => ({
  ...{ type: 'object', properties, required },
});
const text = { type: 'string' };

const elicitation = (message: string, schema: Fields): Fields => ({ type: 'elicitation', message, schema });
const sampling = (prompt: string, maxTokens: number): Fields => ({
  ...{ type: 'sampling', maxTokens },
  messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
});
const nameOf = { user_name: elicitation('What is your name?', objectOf({ name: text })) };
const confirm = { confirm: elicitation('Please confirm', objectOf({ ok: { type: 'boolean' } })) };

/** What a person has typed. */
const typed = (answers: Fields, key: string): Fields =>
  ((answers[key] ?? {}) as { readonly content?: Fields }).content ?? {};

const emits =
  (...blocks: readonly (string | Block)[]): Served['end'] =>
  (_call, _answers, { emit }) => {
    for (const block of blocks) emit(block);
  };

const steps = async (texts: readonly string[], act: (step: string, index: number) => void, signal: AbortSignal) => {
  for (const [index, step] of texts.entries()) {
    if (index > 0) await delay(50, undefined, { signal });
    act(step, index);
  }
};

const logging: Served = {
  tool: { description: 'Logs three messages' },
  end: async (_call, _answers, { emit, progress, signal }) => {
    const log = (data: string): void => progress({ name: 'log', payload: { level: 'info', data } });
    await steps(['Tool execution started', 'Tool processing data', 'Tool execution completed'], log, signal);
    emit('logged');
  },
};

/** Waits as long as it is asked to, in seconds. */
const waiting: Served['end'] = async ({ arguments: { seconds = 1, label = '' } }, _answers, { emit, signal }) => {
  await delay(Number(seconds) * 1000, undefined, { signal });
  emit(`${String(label)} took ${String(seconds)} s`);
};

const fails = (message: string): never => {
  throw userError(message);
};

const defaults = objectOf(
  {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  [],
);

const titled = (prefix: string, titles: readonly string[]): Fields[] =>
  titles.map((title, index) => ({ const: `${prefix}${String(index + 1)}`, title }));

const enums = objectOf(
  {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled('value', ['First Option', 'Second Option', 'Third Option']) },
    legacyEnum: {
      ...{ type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: {
      ...{ type: 'array', items: { anyOf: titled('value', ['First Choice', 'Second Choice', 'Third Choice']) } },
    },
  },
  [],
);

const elicited = (schema: Fields): Served => ({
  tool: { description: 'Asks for a form', needs: ['elicitation'] },
  rounds: () => [{ form: elicitation('Please fill in', schema) }],
  end: (_call, { form }, { emit }) => {
    const { action, content } = form as { readonly action: string; readonly content?: unknown };
    emit(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
  },
});

/** Asks a name. */
const greeting = (tool: Served['tool']): Served => ({
  tool: { ...tool },
  rounds: () => [nameOf],
  end: (_call, answers, { emit }) => {
    emit(`Hello, ${String(typed(answers, 'user_name')['name'])}!`);
  },
});

const confirming = (done: string, tool: Served['tool'] = { description: 'Asks for a confirmation' }): Served => ({
  tool,
  rounds: () => [confirm],
  end: emits(done),
});

const tools: Readonly<Record<string, Served>> = {
  test_simple_text: { tool: {}, end: emits('This is a simple text response for testing.') },
  test_image_content: { tool: {}, end: emits(image) },
  test_audio_content: { tool: {}, end: emits({ type: 'audio', data: wav, mimeType: 'audio/wav' }) },
  test_embedded_resource: {
    tool: {},
    end: emits(resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  },
  test_multiple_content_types: {
    tool: {},
    end: emits(
      'Multiple content types test:',
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  },
  test_tool_with_logging: logging,
  test_logging_tool: logging,
  test_error_handling: { tool: {}, end: () => fails('This tool intentionally returns an error for testing') },
  test_tool_with_progress: {
    tool: {},
    end: async (_call, _answers, { emit, progress, signal }) => {
      await steps(['0', '50', '100'], (step) => progress({ progress: Number(step), total: 100 }), signal);
      emit('done');
    },
  },
  test_sampling: {
    tool: { inputSchema: objectOf({ prompt: text }), needs: ['sampling'] },
    rounds: ({ arguments: { prompt } }) => [{ answer: sampling(String(prompt), 100) }],
    end: (_call, { answer }, { emit }) => {
      const { content } = answer as { readonly content: { readonly text?: string } };
      emit(`LLM response: ${content.text ?? ''}`);
    },
  },
  test_elicitation: {
    tool: { inputSchema: objectOf({ message: text }), needs: ['elicitation'] },
    rounds: ({ arguments: { message } }) => [
      {
        form: elicitation(
          String(message),
          objectOf({
            username: { ...text, description: "User's response" },
            email: { ...text, description: "User's email address" },
          }),
        ),
      },
    ],
    end: (_call, { form }, { emit }) => {
      const { action, content } = form as { readonly action: string; readonly content?: unknown };
      emit(`User response: action: ${action}, content: ${JSON.stringify(content ?? {})}`);
    },
  },
  test_elicitation_sep1034_defaults: elicited(defaults),
  test_elicitation_sep1330_enums: elicited(enums),
  test_streaming_elicitation: greeting({ description: 'Asks for a name' }),
  test_missing_capability: { tool: { needs: ['sampling'] }, end: emits('sampled') },
  test_reconnection: { tool: {}, end: emits('here again') },
  json_schema_2020_12_tool: {
    tool: {
      description: 'Tool with JSON Schema 2020-12 features',
      inputSchema: {
        ...{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
        $defs: {
          address: { $anchor: 'addressDef', type: 'object', properties: { street: text, city: text } },
        },
        properties: {
          name: text,
          address: { $ref: '#/$defs/address' },
          contactMethod: { type: 'string', enum: ['phone', 'email'] },
          ...{ phone: text, email: text },
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
      },
    },
    end: emits('valid'),
  },
  test_input_required_result_elicitation: greeting({ description: 'Asks for a name' }),
  test_input_required_result_sampling: {
    tool: {},
    rounds: () => [{ capital_question: sampling('What is the capital of France?', 100) }],
    end: (_call, { capital_question: answer }, { emit }) => {
      emit((answer as { readonly content: { readonly text: string } }).content.text);
    },
  },
  test_input_required_result_list_roots: {
    tool: {},
    rounds: () => [{ client_roots: { type: 'roots' } }],
    end: (_call, { client_roots: roots }, { emit }) => emit(JSON.stringify(roots)),
  },
  test_input_required_result_request_state: confirming('state-ok'),
  test_input_required_result_tampered_state: confirming('not tampered with'),
  test_input_required_result_multiple_inputs: {
    tool: {},
    rounds: () => [{ ...nameOf, greeting: sampling('Generate a greeting', 50), client_roots: { type: 'roots' } }],
    end: (_call, answers, { emit }) => emit(JSON.stringify(Object.keys(answers))),
  },
  test_input_required_result_multi_round: {
    tool: {},
    rounds: () => [
      { step1: elicitation('Step 1: What is your name?', objectOf({ name: text })) },
      { step2: elicitation('Step 2: What is your favorite color?', objectOf({ color: text })) },
    ],
    end: (_call, answers, { emit }) => {
      emit(`${String(typed(answers, 'step1')['name'])} likes ${String(typed(answers, 'step2')['color'])}`);
    },
  },
  test_input_required_result_capabilities: {
    tool: {},
    rounds: ({ capabilities }) => [
      {
        ...(capabilities.includes('elicitation') && nameOf),
        ...(capabilities.includes('sampling') && { greeting: sampling('Generate a greeting', 50) }),
      },
    ],
    end: emits('asked as it was declared'),
  },
  in_region: {
    tool: { inputSchema: objectOf({ region: { ...text, 'x-mcp-header': 'Region' } }) },
    end: ({ arguments: { region } }, _answers, { emit }) => emit(`in ${String(region)}`),
  },
  greet: {
    tool: { inputSchema: objectOf({ name: text }) },
    end: ({ arguments: { name } }, _answers, { emit }) => emit(`Hello, ${String(name)}!`),
  },
  slow_compute: {
    tool: { inputSchema: objectOf({ seconds: { type: 'number' }, label: text }, []), task: true },
    end: waiting,
  },
  failing_job: {
    tool: { task: 'required' },
    end: async (_call, _answers, { signal }) => {
      await delay(1000, undefined, { signal });
      fails('the job failed');
    },
  },
  protocol_error_job: {
    tool: { task: true },
    end: async (_call, _answers, { signal }) => {
      await delay(400, undefined, { signal });
      return { isBroken: true };
    },
  },
  confirm_delete: {
    tool: { inputSchema: objectOf({ filename: text }, []), task: true },
    rounds: ({ arguments: { filename = 'it' } }) => [
      { confirm: elicitation(`Delete ${String(filename)}?`, objectOf({ confirm: { type: 'boolean' } }, [])) },
    ],
    end: (_call, answers, { emit }) => emit(typed(answers, 'confirm')['confirm'] === true ? 'deleted' : 'kept'),
  },
  delete_three: {
    tool: { task: true },
    rounds: () =>
      ['A', 'B', 'C'].map((file) => ({
        confirm: elicitation(`Delete ${file}?`, objectOf({ confirm: { type: 'boolean' } }, [])),
      })),
    end: emits('all were asked'),
  },
  delete_many: {
    tool: { task: true },
    rounds: () =>
      Array.from({ length: 8 }, (_, index) => ({
        confirm: elicitation(`Delete ${String(index + 1)}?`, objectOf({ confirm: { type: 'boolean' } }, [])),
      })),
    end: emits('all were asked'),
  },
  multi_input: {
    tool: { task: true },
    rounds: () => [
      {
        first: elicitation('The first?', objectOf({ value: text }, [])),
        second: elicitation('The second?', objectOf({ value: text }, [])),
      },
    ],
    end: emits('both are here'),
  },
  test_tool_with_task: {
    ...greeting({ task: 'required', inputFirst: true }),
    end: async (_call, answers, { emit, signal }) => {
      await delay(500, undefined, { signal });
      emit(`Hello, ${String(typed(answers, 'user_name')['name'])}!`);
    },
  },
};

const resources: Readonly<Record<string, Served>> = {
  'test://static-text': { end: emits('This is the content of the static text resource.') },
  'test://static-binary': {
    end: emits({ type: 'resource', resource: { mimeType: 'image/png', blob: png } }),
  },
  'test://watched-resource': { end: emits('watched') },
};

/** The resource of a template. */
const templated: Served = {
  end: ({ arguments: { id } }, _answers, { emit }) => {
    emit(JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }));
  },
};

/** A prompt is what a person would say. */
const ofUser =
  (...blocks: readonly (string | Block)[]): Served['end'] =>
  (_call, _answers, { openMessage }) => {
    const message = openMessage('user');
    for (const block of blocks) message.emit(typeof block === 'string' ? { type: 'text', text: block } : block);
  };

const prompts: Readonly<Record<string, Served>> = {
  test_simple_prompt: { end: ofUser('This is a simple prompt for testing.') },
  test_prompt_with_arguments: {
    end: (call, answers, context) => {
      const { arg1, arg2 } = call.arguments;
      return ofUser(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`)(call, answers, context);
    },
  },
  test_prompt_with_embedded_resource: {
    end: (call, answers, context) => {
      const uri = String(call.arguments['resourceUri']);
      const embedded = resource(uri, 'text/plain', 'Embedded resource content for testing.');
      return ofUser(embedded, 'Please process the embedded resource above.')(call, answers, context);
    },
  },
  test_prompt_with_image: { end: ofUser(image, 'Please analyze the image above.') },
  test_input_required_result_prompt: {
    rounds: () => [{ user_context: elicitation('What context should the prompt use?', objectOf({ context: text })) }],
    end: (call, answers, context) =>
      ofUser(`With ${String(typed(answers, 'user_context')['context'])}`)(call, answers, context),
  },
};

const served = ({ method, name }: McpCall): Served => {
  if (method === 'tools/call') return tools[name] ?? { end: () => fails(`there is no tool ${name}`) };
  return (method === 'prompts/get' ? prompts[name] : resources[name]) ?? templated;
};

const callIn = ({ context }: NodeContext): McpCall => context['mcp'] as McpCall;

const asking = new StateGraph({
  round: field<number>({ type: 'integer', description: 'Rounds of questions that were asked', default: 0 }),
  open: field<readonly Fields[]>({ type: 'array', description: 'What is asked next', default: [] }),
  isBroken: field<boolean>({ type: 'boolean', description: 'Whether the graph leads nowhere', default: false }),
  answers: field<Fields>({
    ...{ type: 'object', description: 'What was answered, by key', default: {} },
    reducer: (all, more) => ({ ...all, ...more }),
  }),
})
  .addNode('call', async ({ round, answers }, context) => {
    const call = callIn(context);
    const { rounds, end } = served(call);
    const next = rounds?.(call)[round];
    if (!next || Object.keys(next).length === 0) {
      const update = await end(call, answers, context);
      return { open: [], ...(update as object | undefined) };
    }
    return { round: round + 1, open: Object.entries(next).map(([key, question]) => ({ ...question, key })) };
  })
  .addNode('ask', (_state, { input }: BranchContext<Fields>) => ({
    answers: { [String(input['key'])]: interrupt(input) },
  }))
  .addEdge(START, 'call')
  .addConditionalEdges(
    'call',
    ({ open, isBroken }) => {
      if (isBroken) throw new Error('the graph leads nowhere');
      return open.length > 0 ? open.map((question) => send('ask', question)) : END;
    },
    ['ask', END],
  )
  .addEdge('ask', 'call')
  .compile();

const described = (names: readonly string[]): readonly { readonly name: string; readonly description: string }[] =>
  names.map((name) => ({ name, description: `The argument ${name}` }));

/** What the conformance kit of MCP calls by name: tools, resources and prompts, and jobs that take long. */
export const graph = offerMcp(asking, {
  tools: Object.entries(tools).map(([name, { tool }]) => ({
    ...{ name, description: `Tool ${name}`, inputSchema: { type: 'object' } },
    ...tool,
  })),
  resources: [
    { uri: 'test://static-text', name: 'Static text', mimeType: 'text/plain' },
    { uri: 'test://static-binary', name: 'Static image', mimeType: 'image/png' },
    { uri: 'test://watched-resource', name: 'Watched', mimeType: 'text/plain' },
    { uriTemplate: 'test://template/{id}/data', name: 'Template', mimeType: 'application/json' },
  ],
  prompts: [
    { name: 'test_simple_prompt', description: 'A simple prompt' },
    {
      ...{ name: 'test_prompt_with_arguments', description: 'A prompt with arguments' },
      arguments: described(['arg1', 'arg2']).map((one) => ({ ...one, required: true })),
    },
    {
      ...{ name: 'test_prompt_with_embedded_resource', description: 'A prompt with a resource' },
      arguments: described(['resourceUri']).map((one) => ({ ...one, required: true })),
    },
    { name: 'test_prompt_with_image', description: 'A prompt with an image' },
    { name: 'test_input_required_result_prompt', description: 'A prompt that asks' },
  ],
});
