import { tool } from '@agent-workflow/graph';
import { calculate } from './calculator.ts';
import { tellTime } from './clock.ts';

const calculator = tool(
  {
    name: 'calculate',
    description: 'Works out an arithmetic expression, such as 2 * (3 + 4) ^ 2 or sqrt(144).',
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string', maxLength: 500 } },
      required: ['expression'],
    },
  },
  ({ expression }) => calculate(expression),
);

const clock = tool(
  {
    name: 'current_time',
    description: 'Tells the date and time, here or elsewhere.',
    parameters: {
      type: 'object',
      properties: {
        time_zone: { type: 'string', description: 'An IANA time zone, such as Europe/Paris, or the city of one' },
      },
    },
  },
  ({ time_zone: place }) => tellTime(new Date(), place),
);

const remember = tool(
  {
    name: 'remember',
    description: 'Keeps a fact for this and all later conversations with the user.',
    parameters: {
      type: 'object',
      properties: { fact: { type: 'string', minLength: 1, maxLength: 2000, description: 'One fact, in one sentence' } },
      required: ['fact'],
    },
  },
  async ({ fact }, { memory }) => {
    await memory.store({ content: fact, memoryType: 'semantic', category: 'facts' });
    return { remembered: fact };
  },
);

const recall = tool(
  {
    name: 'recall',
    description:
      'Finds what was remembered. The nearest there is comes first, and may have nothing to do with the query.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', minLength: 1, maxLength: 2000 } },
      required: ['query'],
    },
  },
  async ({ query }, { memory }) => {
    const found = await memory.search(query, { strategy: 'hybrid', limit: 5 });
    return found.map(({ content }) => content);
  },
);

/** What the agent can do beside talking. */
export const tools = [calculator, clock, remember, recall];
