import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import type { Block, Message } from '@agent-workflow/protos/message';
import type { LangChainPart } from './langchain-message.ts';
import { fromPart, isObject, type Fields } from './parts.ts';
import { callsIn, isCallPart, placed } from './read-calls.ts';

/** A message as a caller of LangChain's clients sent it, in the shape of the service. It has no id where the caller gave none. */
interface ReadMessage {
  readonly message_id?: string;
  readonly role: Message['role'];
  readonly content: Block[];
  readonly metadata?: Fields;
  readonly [key: string]: unknown;
}

/** A message, or the id of one that leaves the context. */
type ReadLangChain = { readonly message: ReadMessage } | { readonly removed: string };

type Place = ErrorDetail['field'];

/**
 * Reads one message in any of the forms that LangChain's own reader takes (`convert_to_messages` of `langchain-core` 1.8): a text, a pair of
 * role and content, an object with `type` or `role`, and an object of `dumpd`.
 * @throws Invalid at the first field with a fault, below `at`.
 */
export function fromLangChain(given: unknown, at: Place): ReadLangChain {
  const fields = fieldsOf(given, at);
  const kind = kindOf(fields, at);
  if (kind === 'remove') return { removed: idOf(fields, at) ?? missing([...at, 'id']) };
  const id = idOf(fields, at);
  const common = { ...(id !== undefined && { message_id: id }), role: kind };
  const metadata = metadataOf(fields, kind);
  const content = kind === 'tool' ? [toResult(fields, at), ...blocksBeside(fields, at)] : toBlocks(fields, kind, at);
  return { message: { ...common, content, ...(Object.keys(metadata).length > 0 && { metadata }) } };
}

/** The fields of a message, whatever the form it was sent in. */
function fieldsOf(given: unknown, at: Place): Fields {
  if (typeof given === 'string') return { type: 'human', content: given };
  if (Array.isArray(given)) {
    const [role, content] = given as unknown[];
    if (given.length !== 2 || typeof role !== 'string') throw invalid(at, 'as a list must be a role and a content');
    return { role, content };
  }
  if (!isObject(given)) throw invalid(at, 'must be a message: an object, a pair of role and content, or a text');
  const { lc, id, kwargs } = given;
  if (lc !== 1 || !isObject(kwargs) || !Array.isArray(id)) return given;
  return { type: classTypes[String(id.at(-1))], ...kwargs };
}

/** The names of LangChain's classes, as `dumpd` writes them. */
const classTypes: Readonly<Record<string, string>> = {
  HumanMessage: 'human',
  AIMessage: 'ai',
  SystemMessage: 'system',
  ToolMessage: 'tool',
  FunctionMessage: 'function',
  RemoveMessage: 'remove',
  HumanMessageChunk: 'human',
  AIMessageChunk: 'ai',
  SystemMessageChunk: 'system',
  ToolMessageChunk: 'tool',
};

const kinds: Readonly<Record<string, Message['role'] | 'remove'>> = {
  human: 'user',
  user: 'user',
  ai: 'assistant',
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
  tool: 'tool',
  function: 'tool',
  remove: 'remove',
};

function kindOf({ type, role }: Fields, at: Place): Message['role'] | 'remove' {
  const [name, word] = type === undefined || type === 'chat' || type === 'generic' ? ['role', role] : ['type', type];
  if (typeof word !== 'string') throw invalid([...at, name], 'is required', 'missing');
  const known = Object.hasOwn(classTypes, word) ? classTypes[word] : word;
  const kind = known !== undefined && Object.hasOwn(kinds, known) ? kinds[known] : undefined;
  // The role of a message of the type `chat` is any word.
  if (kind === undefined && (type === 'chat' || type === 'generic')) return 'user';
  if (kind === undefined) throw invalid([...at, name], `must be one of ${Object.keys(kinds).join(', ')}`, 'enum');
  return kind;
}

function idOf({ id }: Fields, at: Place): string | undefined {
  if (id === undefined || id === null || id === '') return undefined;
  if (typeof id !== 'string') throw invalid([...at, 'id'], 'must be a string', 'string_type');
  return id;
}

function missing(field: Place): never {
  throw invalid(field, 'is required', 'missing');
}

/** What the service keeps of a message beside its content; `toLangChain` writes it back to where it was. */
function metadataOf(
  { name, additional_kwargs: kwargs, response_metadata: response, ...fields }: Fields,
  kind: string,
): Fields {
  const {
    metadata,
    reasoning_content: thought,
    tool_calls: _calls,
    tool_result: _result,
    blocks,
    ...rest
  } = isObject(kwargs) ? kwargs : {};
  const others = { ...rest, ...(kind !== 'tool' && blocks !== undefined && { blocks }) };
  const { finish_reason: reason, ...answer } = isObject(response) ? response : {};
  const isOfModel = kind === 'assistant';
  const kept =
    isOfModel && typeof thought === 'string'
      ? others
      : { ...others, ...(thought !== undefined && { reasoning_content: thought }) };
  return {
    ...(isObject(metadata) && metadata),
    ...(typeof name === 'string' && { name }),
    ...(Object.keys(kept).length > 0 && { additional_kwargs: kept }),
    ...(Object.keys(answer).length > 0 && { response_metadata: answer }),
    ...(typeof reason === 'string' && { finish_reason: reason }),
    ...(isOfModel && isObject(fields['usage_metadata']) && { usage_metadata: fields['usage_metadata'] }),
    ...(isOfModel && isFilled(fields['invalid_tool_calls']) && { invalid_tool_calls: fields['invalid_tool_calls'] }),
  };
}

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

function toBlocks(fields: Fields, kind: Message['role'], at: Place): Block[] {
  const parts = partsOf(fields['content'], [...at, 'content']);
  if (kind !== 'assistant') return parts.map(fromPart);
  const calls = callsIn(fields, at);
  const thought = thoughtBeside(fields, parts);
  return [...thought, ...placed(parts, calls, (part) => (isCallPart(part) ? undefined : fromPart(part)))];
}

function partsOf(content: unknown, at: Place): readonly LangChainPart[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw invalid(at, 'must be a string or an array', 'string_or_array_type');
  return content.map((part: unknown, index): LangChainPart => {
    if (typeof part === 'string') return { type: 'text', text: part };
    if (!isObject(part)) throw invalid([...at, index], 'must be an object or a string', 'object_type');
    if (typeof part['type'] !== 'string' || part['type'] === '')
      throw invalid([...at, index, 'type'], 'must be a string that is not empty', 'string_type');
    return part as LangChainPart;
  });
}

/** DeepSeek and those like it have what the model thought beside the content. */
function thoughtBeside({ additional_kwargs: kwargs }: Fields, parts: readonly LangChainPart[]): Block[] {
  const thought = isObject(kwargs) ? kwargs['reasoning_content'] : undefined;
  const isThere = parts.some(({ type }) => type === 'reasoning' || type === 'thinking');
  return typeof thought === 'string' && thought !== '' && !isThere ? [{ type: 'reasoning', text: thought }] : [];
}

function toResult(
  { tool_call_id: call, content, status, artifact, additional_kwargs: kwargs }: Fields,
  at: Place,
): Block {
  if (typeof call !== 'string' || call === '') throw invalid([...at, 'tool_call_id'], 'is required', 'missing');
  const isError = status === 'error';
  const { tool_result: kept } = isObject(kwargs) ? kwargs : {};
  const ending = isObject(kept) ? kept : { status: isError ? 'error' : 'completed', is_error: isError };
  return { type: 'tool_result', call_id: call, ...toOutput(content, artifact, at), ...ending };
}

/** What stands in the message beside its result, as `toLangChain` writes it. */
function blocksBeside({ additional_kwargs: kwargs }: Fields, at: Place): Block[] {
  const blocks = isObject(kwargs) ? kwargs['blocks'] : undefined;
  return blocks === undefined ? [] : [...partsOf(blocks, [...at, 'additional_kwargs', 'blocks'])];
}

/** The output of a tool. An artifact that is the content as JSON is the output itself. */
function toOutput(content: unknown, artifact: unknown, at: Place): Fields {
  const parts = typeof content === 'string' ? content : partsOf(content, [...at, 'content']);
  if (artifact === undefined || artifact === null) return { output: parts };
  return typeof parts === 'string' && JSON.stringify(artifact) === parts
    ? { output: artifact }
    : { output: parts, artifact };
}
