import type { SupportedUrls } from './ai-sdk-model.ts';
import type { MediaPart } from './question-media.ts';

/** Whether the provider reads this address. Of one that names none nobody knows, and it may say so itself. */
export function isReadable(urls: SupportedUrls, { kind, mediaType, from }: MediaPart): boolean {
  const entries = Object.entries(urls);
  if (!('url' in from) || entries.length === 0) return true;
  const address = from.url.toLowerCase();
  const type = mediaType ?? (kind === 'document' ? 'application/pdf' : `${kind}/*`);
  return entries.some(([pattern, addresses]) => covers(pattern, type) && addresses.some((one) => one.test(address)));
}

function covers(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === '*/*' || pattern === type) return true;
  const [top, sub] = pattern.split('/');
  return type.startsWith(`${top ?? ''}/`) && (sub === '*' || type.endsWith('/*'));
}
