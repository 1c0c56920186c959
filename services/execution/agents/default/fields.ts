import { field, type NodeFunction } from '@agent-workflow/execution/graph';

/** What the agent keeps of a thread beside its messages. */
export const fields = {
  user_name: field<string>({ type: 'string', description: 'What the agent calls the user', default: '' }),
};

/** A brain: a node that reads the conversation, and answers it or calls tools. */
export type Think = NodeFunction<typeof fields>;
