import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useKeys } from '../../session/keys.ts';
import { Icon } from '../icon.tsx';
import { CopyId } from './copy-id.tsx';
import { Tabs, type TabsProps } from './tabs.tsx';

interface DetailPaneProps {
  /** Where it belongs: the title of its list. */
  readonly crumb: string;
  /** The address of that list. */
  readonly backHref: string;
  readonly id?: string | undefined;
  readonly title: ComponentChildren;
  /** One line of facts, beginning with the status. */
  readonly facts?: ComponentChildren;
  /** Buttons at the right; at most one is filled. */
  readonly actions?: ComponentChildren;
  /** Tabs above the content, which is then that of the chosen tab. */
  readonly tabs?: Omit<TabsProps, 'children'>;
  /** What a screen reader calls it: `Thread`. */
  readonly label: string;
  readonly children?: ComponentChildren;
}

/** What is open: where it belongs, its title, one line of facts, its content. */
export function DetailPane({ crumb, backHref, id, title, facts, actions, tabs, label, children }: DetailPaneProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // On a phone the link that was followed is out of sight with its list: the keyboard goes on at the heading.
  useEffect(() => {
    const { activeElement } = document;
    const isSeen = activeElement?.checkVisibility({ visibilityProperty: true });
    if (activeElement === document.body || isSeen === false) heading.current?.focus();
  }, []);
  const back = (): void => {
    location.hash = backHref;
  };
  useKeys([{ keys: 'Escape', text: `Back to ${crumb}`, group: 'Lists', run: back }]);
  return (
    <article class="detail-pane" aria-label={label}>
      <div class="bar">
        <a class="button button-quiet button-sign back" href={backHref} aria-label={`Back to ${crumb}`}>
          <Icon name="back" />
        </a>
        <span class="crumb">{crumb}</span>
        {id !== undefined && <CopyId id={id} />}
        {actions !== undefined && <div class="bar-actions">{actions}</div>}
      </div>
      <div class="detail-body">
        <h1 ref={heading} tabIndex={-1} dir="auto">
          {title}
        </h1>
        {facts !== undefined && <div class="detail-facts">{facts}</div>}
        {tabs === undefined ? children : <Tabs {...tabs}>{children}</Tabs>}
      </div>
    </article>
  );
}
