const schemes: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);

/** The address of a link that may be followed: of a web page or a mailbox. Any other is `undefined`. */
export function safeAddress(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const { protocol, href: address } = new URL(href);
  return schemes.has(protocol) ? address : undefined;
}
