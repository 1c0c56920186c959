const schemes: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);

/** The address of a link that may be followed: of a web page or a mailbox. Any other is `undefined`. */
export function safeAddress(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const { protocol, href: address } = new URL(href);
  return schemes.has(protocol) ? address : undefined;
}

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': '\u00a0',
};

/** The characters that the common entities stand for. */
export const withoutEntities = (text: string): string =>
  text.includes('&') ? text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => entities[entity] ?? entity) : text;
