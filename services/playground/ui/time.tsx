/** A time of the service as the reader's own clock says it; the exact one is its title. */
export function Time({ at }: { readonly at: string | null | undefined }) {
  const date = new Date(at ?? NaN);
  if (typeof at !== 'string' || Number.isNaN(date.getTime())) return <span class="hint">unknown</span>;
  return (
    <time dateTime={at} title={at}>
      {format.format(date)}
    </time>
  );
}

const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
