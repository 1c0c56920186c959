import { chatModel, createReactAgent, remoteTool, type Model } from '@agent-workflow/graph';

/** The browser executes it: the run waits until the browser has sent the place. */
const locate = remoteTool({
  name: 'locate',
  description: 'The place where the user is',
  parameters: { type: 'object' },
});

/** Answers questions about the place where the user is. */
export const createAgent = (model: Model) => createReactAgent({ model, tools: [locate] });

export const graph = createAgent(chatModel({ model: 'gpt-5-mini', apiKey: process.env['OPENAI_API_KEY'] }));
