import type { Client } from 'cassandra-driver';

/** The part of the driver's control connection that its types leave out. */
interface Control {
  _refresh: (hosts?: unknown) => Promise<void>;
}

/** The pause after a failed search, in milliseconds. */
const retryMs = 1000;

/**
 * Makes the driver search for a new control connection one search at a time. When connections break in quick succession it begins
 * several such searches; they close each other's connection, and the resulting uncaught error would end the
 * process.
 */
export function searchOneAtATime(client: Client): void {
  // The driver's types leave its own fields out.
  const { controlConnection: control } = client as unknown as { readonly controlConnection: Control };
  const refresh = control._refresh.bind(control);
  let search: Promise<void> | undefined;
  const later = (): void => {
    setTimeout(() => void control._refresh(), retryMs).unref();
  };
  control._refresh = (hosts) => {
    // With hosts it is the same search that goes on.
    if (hosts !== undefined) return refresh(hosts);
    search ??= refresh()
      .catch(later)
      .finally(() => {
        search = undefined;
      });
    return search;
  };
}
