import { StatedError } from '../state/stated-error.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * The result of a tool as text or JSON: its structured content, else its text, else its blocks as they are (images, audio, resources).
 * Structured content that comes with such blocks is returned with them. The call is done, whatever its result looks like: what the protocol does not
 * have is given as it came.
 * @throws Error with the text of a result that the server marks as an error.
 */
export function toOutput(result: Members): unknown {
  const { structuredContent, isError } = result;
  const content = readBlocks(result['content']);
  const texts = content.flatMap((block) => (isText(block) ? [block.text] : []));
  if (isError === true || isError === 'true')
    throw new StatedError(texts.join('\n') || errorWithoutText(content, structuredContent), {
      reason: 'refused_by_provider',
    });
  const structured = isObject(structuredContent) ? structuredContent : undefined;
  if (content.length === 0) return structuredContent ?? otherMembers(result) ?? '';
  if (texts.length === content.length) return structured ?? texts.join('\n');
  return structured === undefined ? content : { structuredContent, content };
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isText = (block: unknown): block is { readonly text: string } =>
  isObject(block) && block['type'] === 'text' && typeof block['text'] === 'string';

/** One block without a list, and a text without a block, are read as what they mean. */
function readBlocks(content: unknown): readonly unknown[] {
  if (Array.isArray(content))
    return content.map((block) => (typeof block === 'string' ? toText(block) : (block as unknown)));
  if (typeof content === 'string') return [toText(content)];
  return isObject(content) ? [content] : [];
}

const toText = (text: string): Members => ({ type: 'text', text });

/** What a server of another protocol sent in place of content. */
function otherMembers({
  content: _,
  structuredContent: __,
  isError: ___,
  resultType: ____,
  _meta,
  ...rest
}: Members): unknown {
  return Object.keys(rest).length === 0 ? undefined : rest;
}

const errorWithoutText = (content: readonly unknown[], structuredContent: unknown): string => {
  const json: unknown = structuredContent ?? (content.length > 0 ? content : undefined);
  return json === undefined ? 'the tool failed and did not say why' : JSON.stringify(json);
};
