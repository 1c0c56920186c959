/** A value as indented JSON, which the keyboard can scroll. */
export function JsonView({ label, value }: { readonly label: string; readonly value: unknown }) {
  return (
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {JSON.stringify(value, undefined, 2)}
    </pre>
  );
}
