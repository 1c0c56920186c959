/**
 * Texts of about a given length whose structure brings readers of Markdown to a standstill or overflows their stack: those that the
 * authors of CommonMark describe, and some of tables, lists and definitions.
 */
export const markdownTexts: Readonly<Record<string, (length: number) => string>> = {
  'strong emphasis in emphasis, many times over': (length) =>
    `${filled('*a **a ', length / 2)}b${filled(' a** a*', length / 2)}`,
  'emphasis that ends and never began': (length) => filled('a_ ', length),
  'emphasis that begins and never ends': (length) => filled('_a ', length),
  'emphasis without a space between': (length) => filled('_a_', length),
  'marks of emphasis that do not match': (length) => filled('*a_ ', length),
  'marks of emphasis whose sum is a multiple of three': (length) => `a**b${filled('c* ', length)}`,
  'emphasis around links': (length) => filled('**x [a*b**c*](d)', length),
  'long runs of stars': (length) => [1, 2, 3].map(() => '*'.repeat(length / 3)).join(' a '),
  'strikes that match by halves': (length) => filled('~~a~ ', length),
  'ends of links': (length) => filled('a]', length),
  'beginnings of links': (length) => filled('[a', length),
  'brackets and parentheses that open': (length) => filled('[ (', length),
  'links that open in addresses': (length) => filled('[](', length),
  'images of links of nothing': (length) => filled('![[]()', length),
  'brackets in brackets': (length) => `${'['.repeat(length / 2)}a${']'.repeat(length / 2)}`,
  'images in images': (length) => `${filled('![', length / 3)}a${filled('](b)', (2 * length) / 3)}`,
  'links whose address does not end': (length) => filled('[a](<b', length),
  'links whose parenthesis does not end': (length) => filled('[a](b', length),
  'quotes in quotes': (length) => `${filled('> ', length)}a`,
  'signs of quotes': (length) => '>'.repeat(length),
  'quotes and lists in each other': (length) => `${filled('> - ', length)}a`,
  'a list in a list on each line': (length) => {
    let text = '';
    for (let depth = 0; text.length < length; depth++) text += `${'  '.repeat(depth)}* a\n`;
    return text;
  },
  'lists in lists on one line': (length) => `${filled('- ', length)}a`,
  'numbered lists in each other': (length) => `${filled('1. ', length)}a`,
  'items of a list': (length) => filled('- a\n', length),
  'lists of two signs in turn': (length) => filled('- a\n* b\n', length),
  'a quote that goes on without its sign': (length) => `> a\n${filled('b\n', length)}`,
  'quotes apart': (length) => filled('> a\n\n', length),
  'characters that are null': (length) => filled('abc\0de\0', length),
  'backticks of growing lengths': (length) => {
    let text = '';
    for (let count = 1; text.length < length; count++) text += `e${'`'.repeat(count)}`;
    return text;
  },
  'backticks of two lengths': (length) => filled('`` ` ', length),
  'blocks of code that do not end': (length) => filled('```a\n~~~\n', length),
  'comments that do not end': (length) => `</${filled('<!--', length)}`,
  'instructions that do not end': (length) => filled('<?', length),
  'declarations that do not end': (length) => filled('<!A ', length),
  'character data that does not end': (length) => filled('<![CDATA[', length),
  'a comment that does not end on each line': (length) => filled('a <!-- b\n', length),
  'attributes that do not end': (length) => filled('<a href="', length),
  'elements that open': (length) => filled('<div>\n', length),
  'definitions of one link': (length) => `${filled('[a]: u\n', length)}\n[a] [a]`,
  'definitions of nothing': (length) => `${'['.repeat(length / 2)}${filled(']:\n', length / 2)}`,
  'many definitions and their uses': (length) => {
    let text = '';
    for (let count = 0; text.length < length / 2; count++) text += `[a${String(count)}]: u\n`;
    return `${text}\n${filled('[a0] ', length / 2)}`;
  },
  'a title that does not end': (length) => `[a]: b "${filled('\\"', length)}`,
  'a table of many columns': (length) =>
    `|${filled('a|', length / 3)}\n|${filled('-|', length / 3)}\n|${filled('b|', length / 3)}`,
  'a table of short rows': (length) =>
    `${filled('a|', Math.sqrt(length))}\n${filled('-|', Math.sqrt(length))}\n${filled('a\n', length)}`,
  'heads of tables': (length) => filled('a|b\n-|\n', length),
  'lines that are nearly of tables': (length) => `${filled('|-', length / 2)}\n${filled('|-', length / 2)}x`,
  'headings underlined': (length) => filled('a\n-\n', length),
  'a heading of signs': (length) => `# a${filled(' #', length)}b`,
  entities: (length) => filled('&#', length),
  backslashes: (length) => '\\'.repeat(length),
  'an indent of tabs': (length) => `${'\t'.repeat(length)}a`,
  'ends of lines': (length) => '\n'.repeat(length),
  'spaces between two letters': (length) => `a${' '.repeat(length)}b`,
  'addresses of web pages': (length) => filled('http://', length),
  'an address that ends with dots': (length) => `http://a.b${'.'.repeat(length)} `,
  'addresses of mailboxes': (length) => filled('a@', length),
  'marks upon one letter': (length) => `a${'\u0301'.repeat(length - 1)}`,
  'letters of Arabic without a space': (length) => filled('\u0628', length),
  'words of Thai without a space': (length) => filled('\u0e01\u0e33', length),
  'a mailbox of many parts': (length) => `${filled('a.', length)}@`,
};

const filled = (part: string, length: number): string => part.repeat(Math.max(1, Math.floor(length / part.length)));
