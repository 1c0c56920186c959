import { holdsRun, withoutDataUrls } from './long-runs.ts';
import { readMedia } from './media.ts';

type Given = Readonly<Record<string, unknown>>;

/**
 * The output of a tool call in parts: texts, and blocks that name media. Data of media that stands anywhere else in it is replaced by its
 * kind, so that no model reads base64.
 */
export function partsOfResult(output: unknown): readonly (string | object)[] {
  if (typeof output === 'string') return [String(withoutData(output))];
  if (readMedia(output)) return [output as object];
  if (Array.isArray(output) && output.some(readMedia)) return output.map(partOf);
  const { content, structuredContent } = (output ?? {}) as Given;
  if (Array.isArray(content) && content.some(readMedia))
    return [...(structuredContent === undefined ? [] : [toText(structuredContent)]), ...content.map(partOf)];
  return [toText(output)];
}

function partOf(block: unknown): string | object {
  if (readMedia(block)) return block as object;
  const { type, text } = (block ?? {}) as Given;
  return type === 'text' && typeof text === 'string' ? text : toText(block);
}

const toText = (value: unknown): string => JSON.stringify(value ?? null, (_, inner: unknown) => withoutData(inner));

/** Shorter data is read for what it is. */
const leastData = 256;

function withoutData(value: unknown): unknown {
  if (typeof value === 'string') return holdsRun(value, leastData) ? withoutDataInText(value) : value;
  const media = typeof value === 'object' && value !== null ? readMedia(value) : undefined;
  const isData = media && 'base64' in media.from && media.from.base64.length >= leastData;
  return isData ? `[${media.mediaType ?? media.kind}]` : value;
}

/** Some tools write the JSON of their blocks as a text. */
function withoutDataInText(text: string): string {
  const read = withoutDataUrls(text, leastData);
  if (!/^\s*[[{]/.test(read)) return read;
  try {
    const json: unknown = JSON.parse(read);
    const shown = toText(json);
    return shown === JSON.stringify(json) ? read : shown;
  } catch {
    return read;
  }
}
