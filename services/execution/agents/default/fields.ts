import { field, type NodeFunction, type SummarizeOptions } from '@agent-workflow/graph';

/** What the agent keeps of a thread beside its messages. */
export const fields = {
  user_name: field<string>({ type: 'string', description: 'What the agent calls the user', default: '' }),
};

export interface Brain {
  /** A node that reads the conversation, and answers it or calls tools. */
  readonly think: NodeFunction<typeof fields>;
  /** Puts what the agent is to see no more into a summary. */
  readonly summarize: SummarizeOptions['summarize'];
}
