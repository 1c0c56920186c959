/** A moment as people read it. */
interface LocalTime {
  readonly time_zone: string;
  /** As "Friday, 21 November 2025". */
  readonly date: string;
  /** As "14:03:09". */
  readonly time: string;
}

/**
 * The date and time in a time zone: an IANA name, or the city that one is named for; without one, where the service runs.
 * @throws Error when there is no such time zone.
 */
export function describeTime(now: Date, place?: string): LocalTime {
  const zone = place === undefined ? here() : findZone(place);
  if (zone === undefined) throw new Error(`there is no time zone named ${JSON.stringify(place)}`);
  return {
    time_zone: zone,
    date: now.toLocaleDateString('en-GB', { dateStyle: 'full', timeZone: zone }),
    time: now.toLocaleTimeString('en-GB', { timeStyle: 'medium', timeZone: zone }),
  };
}

const here = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

function findZone(place: string): string | undefined {
  const name = place.trim().replaceAll(' ', '_');
  return canonical(name) ?? Intl.supportedValuesOf('timeZone').find((zone) => cityOf(zone) === name.toLowerCase());
}

function canonical(zone: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

const cityOf = (zone: string): string | undefined => zone.toLowerCase().split('/').at(-1);
