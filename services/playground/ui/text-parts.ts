/** A long text in parts, cut at white space, so that a browser lays out only the last one when the text grows. */
export function partsOf(text: string, size = 4096): readonly string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    const space = from + size < text.length ? text.lastIndexOf(' ', from + size) : text.length;
    const to = space > from ? Math.min(text.length, space + 1) : Math.min(text.length, from + size);
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}
