/** What a text of each format must be, and whether it is. A format that is not listed is not checked. */
const formats: Readonly<Record<string, { readonly name: string; readonly isMet: (text: string) => boolean }>> = {
  email: { name: 'an e-mail address', isMet: isEmail },
  date: { name: 'a date such as 2026-03-31', isMet: isDate },
  'date-time': { name: 'a time such as 2026-03-31T14:00:00Z', isMet: isDateTime },
  uri: { name: 'an address such as https://example.com', isMet: isUri },
};

/** The name of a format that forms check, as a schema has it. */
export const knownFormat = (name: unknown): string | undefined =>
  typeof name === 'string' && Object.hasOwn(formats, name) ? name : undefined;

/** What is wrong with a text of a format: the rest of a sentence that begins with the name of its field. */
export function faultOfFormat(format: string, text: string): string | undefined {
  const known = formats[format];
  return known === undefined || known.isMet(text) ? undefined : `must be ${known.name}`;
}

/** RFC 5321 bounds an address. Whether it exists is not checked. */
function isEmail(text: string): boolean {
  const place = text.lastIndexOf('@');
  const [local, domain] = [text.slice(0, Math.max(0, place)), text.slice(place + 1)];
  if (local === '' || local.length > 64 || domain.length > 255 || /[\s@]/.test(local)) return false;
  return domain.split('.').every((label) => /^[\p{L}\p{N}-]{1,63}$/u.test(label) && !/^-|-$/.test(label));
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  // The day 0 of the next month is the last one of this. The year 2000 + n has as many days as n, for n below 400.
  const last = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= last;
}

/** As RFC 3339 has it; a leap second is taken in any minute. */
function isDateTime(text: string): boolean {
  const time = /^[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,32})?(?:[Zz]|[+-](\d{2}):(\d{2}))$/.exec(text.slice(10));
  if (!time || !isDate(text.slice(0, 10))) return false;
  const [hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = time
    .slice(1)
    .map((part) => Number(part || 0));
  return hour <= 23 && minute <= 59 && second <= 60 && zoneHour <= 23 && zoneMinute <= 59;
}

/** An absolute one: RFC 3986 wants a scheme, and no space or sign that must be encoded. */
function isUri(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && !/[\s<>"{}|\\^`]|[^\x21-\x7e]/.test(text) && URL.canParse(text);
}
