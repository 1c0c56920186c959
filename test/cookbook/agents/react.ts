import { chatModel, createReactAgent, tool, type Model } from '@agent-workflow/graph';

const orders = new Map([['A1', 'open']]);
const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } as const;
const find = tool({ name: 'find', description: 'The status of an order', parameters }, ({ id }) => orders.get(id));
const cancel = tool({ name: 'cancel', description: 'Cancels an order', parameters }, ({ id }) => {
  if (!orders.delete(id)) throw new Error(`There is no order ${id}.`);
});

/** Answers questions about orders, and cancels them. */
export const createAgent = (model: Model) =>
  createReactAgent({ model, instructions: 'You help with orders.', tools: [find, cancel] });

export const graph = createAgent(chatModel({ model: 'gpt-5-mini', apiKey: process.env['OPENAI_API_KEY'] }));
