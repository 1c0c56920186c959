/** Whether a text has a format. A format that is not listed is any text, as the standard says. Each takes time that grows with the text alone. */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': isDateTime,
  duration: (text) =>
    text.length < 100 &&
    /^P(?=[\dT])(?:\d+Y)?(?:\d+M)?(?:\d+W)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?$/.test(text),
  email: isEmail,
  hostname: isHostname,
  ipv4: (text) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text),
  ipv6: (text) => /^[\da-f:.]{2,45}$/i.test(text) && URL.canParse(`http://[${text}]`),
  uri: (text) => /^[a-z][a-z\d+.-]*:/i.test(text) && isOfUri(text),
  'uri-reference': isOfUri,
  url: (text) => /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text),
  uuid: (text) => /^(?:urn:uuid:)?[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text),
  'json-pointer': (text) => (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text),
};

function isOfUri(text: string): boolean {
  return /^[^\s<>"{}|\\^`]*$/.test(text) && !/%(?![\da-f]{2})/i.test(text);
}

const days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string): boolean {
  const [, year, month, day] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const last = days[month - 1] ?? 0;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= (month === 2 && !isLeap ? 28 : last);
}

function isTime(text: string): boolean {
  const found = /^(\d\d):(\d\d):(\d\d)(?:\.\d{1,100})?(?:z|([+-])(\d\d):?(\d\d))$/i.exec(text);
  if (!found) return false;
  const [hour = 0, minute = 0, second = 0] = found.slice(1, 4).map(Number);
  const [offsetHour, offsetMinute] = [Number(found[5] ?? 0), Number(found[6] ?? 0)];
  if (hour > 23 || minute > 59 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  // A leap second is the last of a day in UTC.
  const utc = hour * 60 + minute - (found[4] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  return second === 60 && (utc + 2 * 24 * 60) % (24 * 60) === 24 * 60 - 1;
}

function isDateTime(text: string): boolean {
  return /^[t\s]$/i.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, Math.max(0, at));
  const isLocal = /^[\w!#$%&'*+/=?^`{|}~.-]{1,64}$/.test(local) && !/^\.|\.\.|\.$/.test(local);
  return isLocal && isHostname(text.slice(at + 1));
}

function isHostname(text: string): boolean {
  if (text.length > 253 || text === '') return false;
  const labels = text.endsWith('.') ? text.slice(0, -1).split('.') : text.split('.');
  return labels.every((label) => /^[a-z\d-]{1,63}$/i.test(label) && !label.startsWith('-') && !label.endsWith('-'));
}
