import { LRUCache } from 'lru-cache';

const hourMs = 3_600_000;
/** More than any zone is from another, so that before and after it another offset may hold, in milliseconds. */
const farMs = 36 * hourMs;

/** A time zone of the IANA database. A wall time is what its clocks show, as if that were UTC, in milliseconds since 1970. */
export interface Zone {
  readonly toWall: (at: number) => number;
  /** The first moment at which the clocks show this or, where they leave it out, show more. */
  readonly firstAt: (wall: number) => number;
  /** The first moment after `from` and up to `to` at which the clocks are set; absent: they are not. */
  readonly changeIn: (from: number, to: number) => number | undefined;
}

const zones = new LRUCache<string, Zone>({ max: 500 });

/** `undefined` for what is no name of a zone: an offset is none, because it follows no clock. */
export function zoneOf(name: string): Zone | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  const known = zones.get(name);
  if (known) return known;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { ...shown, timeZone: name });
  } catch {
    return undefined;
  }
  const zone = createZone((at) => offsetBy(format, at));
  zones.set(name, zone);
  return zone;
}

const shown: Intl.DateTimeFormatOptions = {
  ...{ calendar: 'iso8601', numberingSystem: 'latn', hourCycle: 'h23', era: 'short' },
  ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' },
};

function offsetBy(format: Intl.DateTimeFormat, at: number): number {
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

function createZone(offsetAt: (at: number) => number): Zone {
  /** The first moment in (from, to] with another offset than at `from`. There is one. */
  const changeBetween = (from: number, to: number): number => {
    const before = offsetAt(from);
    let [low, high] = [from, to];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offsetAt(middle) === before) low = middle;
      else high = middle;
    }
    return high;
  };
  return {
    toWall: (at) => at + offsetAt(at),
    firstAt: (wall) => {
      const offsets = [offsetAt(wall - farMs), offsetAt(wall + farMs)];
      const possible = offsets.map((offset) => wall - offset).toSorted((one, other) => one - other);
      const [first = wall, last = wall] = possible;
      return possible.find((at) => at + offsetAt(at) === wall) ?? changeBetween(first, last);
    },
    changeIn: (from, to) => (offsetAt(from) === offsetAt(to) ? undefined : changeBetween(from, to)),
  };
}
