/** One block of a message's content; a block of a type not listed here is kept as it came. */
export interface Block {
  readonly type: string;
  readonly [key: string]: unknown;
}

export const roles = ['user', 'assistant', 'system', 'tool'] as const;
export type Role = (typeof roles)[number];

/** A message as it stands in the log, in replies and in `state.context`. */
export interface Message {
  readonly message_id: string;
  readonly role: Role;
  readonly content: readonly Block[];
  readonly tools_calls?: readonly unknown[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly [key: string]: unknown;
}

/** The ids of the calls that a tool message answers. */
export const answeredCalls = (message: Pick<Message, 'content'>): string[] =>
  message.content.flatMap((block) =>
    block.type === 'tool_result' && typeof block['call_id'] === 'string' ? [block['call_id']] : [],
  );

const callTypes: ReadonlySet<string> = new Set(['tool_call', 'remote_tool_call']);

/** A block that asks for a tool: `tool_call` on the server, `remote_tool_call` at the caller. */
export interface CallBlock extends Block {
  readonly type: 'tool_call' | 'remote_tool_call';
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export const isCall = (block: Block): block is CallBlock =>
  callTypes.has(block.type) && typeof block['id'] === 'string' && typeof block['name'] === 'string';

/** The ids of the tool calls that a message makes. */
export const callsOf = (message: Pick<Message, 'content'>): string[] =>
  message.content.filter(isCall).map(({ id }) => id);

/** The text of a message: its `text` blocks joined. */
export const textOf = (message: Pick<Message, 'content'>): string =>
  message.content
    .flatMap((block) => (block.type === 'text' && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('');
