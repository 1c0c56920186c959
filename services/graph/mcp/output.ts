import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { StatedError } from '../state/stated-error.ts';

/**
 * The result of a tool as text or JSON: its structured content, else its text, else its blocks as they are (images, audio, resources).
 * Structured content that comes with such blocks is returned with them.
 * @throws Error with the text of a result that the server marks as an error.
 */
export function toOutput({ content, structuredContent, isError }: CallToolResult): unknown {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  if (isError === true)
    throw new StatedError(texts.join('\n') || errorWithoutText(content, structuredContent), {
      reason: 'refused_by_provider',
    });
  if (texts.length === content.length) return structuredContent ?? texts.join('\n');
  return structuredContent === undefined ? content : { structuredContent, content };
}

const errorWithoutText = (content: readonly ContentBlock[], structuredContent: unknown): string => {
  const json = structuredContent ?? (content.length > 0 ? content : undefined);
  return json === undefined ? 'the tool failed and did not say why' : JSON.stringify(json);
};
