import {
  callsTools,
  chatModel,
  END,
  field,
  lastUserText,
  modelNode,
  START,
  StateGraph,
  tool,
  toolNode,
} from '@agent-workflow/graph';

/** The value of numbers, + - * / and brackets; NaN where they are no expression. */
function valueOf(expression = '') {
  const left = expression.match(/\d+(?:\.\d+)?|[^\s\d]/g) ?? [];
  const inner = { sum: () => NaN };
  const factor = () => {
    let next = left.shift();
    let sign = 1;
    for (; next === '-'; next = left.shift()) sign = -sign;
    if (next !== '(') return sign * Number(next);
    const value = sign * inner.sum();
    return left.shift() === ')' ? value : NaN;
  };
  const product = () => {
    let value = factor();
    while (left[0] === '*' || left[0] === '/') value = left.shift() === '*' ? value * factor() : value / factor();
    return value;
  };
  inner.sum = () => {
    let value = product();
    while (left[0] === '+' || left[0] === '-') value += left.shift() === '+' ? product() : -product();
    return value;
  };
  const value = inner.sum();
  return left.length === 0 ? value : NaN;
}

const calculate = tool(
  {
    name: 'calculate',
    description: 'Works out numbers with + - * / and brackets, such as 12 * (7 + 1).',
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string', maxLength: 200 } },
      required: ['expression'],
    },
  },
  ({ expression }) => {
    const value = valueOf(expression);
    if (!Number.isFinite(value)) throw new Error(`${expression} cannot be worked out`);
    return `${expression} = ${String(value)}`;
  },
);

const remember = tool(
  {
    name: 'remember',
    description: 'Keeps a fact for this and all later conversations with the user.',
    parameters: { type: 'object', properties: { fact: { type: 'string', maxLength: 2000 } }, required: ['fact'] },
  },
  async ({ fact }, { memory }) => {
    await memory.store({ content: fact, category: 'facts' });
    return `I will remember: ${fact}`;
  },
);

const recall = tool(
  {
    name: 'recall',
    description: 'Finds what was remembered. The nearest comes first, and may have nothing to do with the query.',
    parameters: { type: 'object', properties: { query: { type: 'string', maxLength: 2000 } }, required: ['query'] },
  },
  async ({ query }, { memory }) => {
    const [first, ...others] = await memory.search(query, { strategy: 'hybrid', limit: 3 });
    return first
      ? ['I remember:', ...[first, ...others].map(({ content }) => content)].join('\n')
      : 'I do not know that.';
  },
);

/**
 * What is asked for without a model: the first group of a pattern is what the tool is called with. A fact may hold numbers. Of `1,000`, `2^10`,
 * `10 % 3` or `1e3` no part is worked out: `calculate` says that it cannot.
 */
const requests = [
  { pattern: /^remember (?:that )?(.+)/is, name: 'remember', parameter: 'fact' },
  { pattern: /([-(]{0,20}\d(?:[\d.()+*/^%e -]|,\d){0,198}[\d)])/, name: 'calculate', parameter: 'expression' },
  { pattern: /^(.+\?)$/s, name: 'recall', parameter: 'query' },
];

// With MODEL a model answers, at OPENAI_BASE_URL where that is set; without it rules do, which need no key.
const { MODEL: model = '', OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl } = process.env;

export const graph = new StateGraph({
  user_name: field({ type: 'string', description: 'What the agent calls the user', default: '' }),
})
  .addNode(
    'agent',
    model === ''
      ? (state, { emit, tools }) => {
          const speak = (text = '') => {
            for (const word of text.split(/(?= )/)) emit(word);
          };
          const last = state.context.at(-1);
          if (last?.role === 'tool') {
            const outputs = last.content.map(({ output }) =>
              typeof output === 'string' ? output : JSON.stringify(output),
            );
            speak(outputs.join('\n'));
            return {};
          }
          const text = lastUserText(state).trim();
          const call = (name = '', args = {}) =>
            emit({ type: 'tool_call', id: crypto.randomUUID(), tool_type: 'function', name, args });
          const [, named, json = '{}'] = /^use ([\w-]{1,64}) ?(\{.*)?$/s.exec(text) ?? [];
          const [, userName] = /^my name is (\p{L}{1,50})/iu.exec(text) ?? [];
          const request = requests.find(({ pattern }) => pattern.test(text));
          if (tools.some(({ name }) => name === named)) call(named, JSON.parse(json));
          else if (userName) speak(`Nice to meet you, ${userName}.`);
          else if (state.user_name !== '' && /^what is my name\b/i.test(text)) speak(`You are ${state.user_name}.`);
          else if (request) call(request.name, { [request.parameter]: request.pattern.exec(text)?.[1] });
          else speak('Hello! What can I do for you? Ask "What is 12 * 7?", or say "Remember that I like tea".');
          return userName ? { user_name: userName } : {};
        }
      : modelNode({
          model: chatModel({
            ...{ model, apiKey, baseUrl },
            names: { model: 'MODEL', apiKey: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL' },
          }),
          instructions:
            'You are a helpful assistant. Call `remember` when the user tells you what will matter later, and `recall` ' +
            'before you answer what you may have been told before.',
        }),
  )
  .addNode('tools', toolNode([calculate, remember, recall]))
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'agent')
  .compile();
