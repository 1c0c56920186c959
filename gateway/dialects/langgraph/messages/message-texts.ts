import type { Message } from '@agent-workflow/protos/message';
import { toLangChain } from './to-langchain.ts';

/** A message as JSON; several after each other where it becomes several. */
export const textsOf = (message: Message): string =>
  toLangChain(message)
    .map((made) => JSON.stringify(made))
    .join(',');
