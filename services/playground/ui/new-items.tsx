interface NewItemsProps {
  /** How many there are that are not shown yet. */
  readonly count: number;
  readonly onShow: () => void;
}

/** Says that there is something new, and shows it when the reader asks: nothing moves under somebody who reads. */
export function NewItems({ count, onShow }: NewItemsProps) {
  return (
    <div class="new-items" role="status">
      {count > 0 && (
        <button type="button" onClick={onShow}>
          {String(count)} new
        </button>
      )}
    </div>
  );
}

/** Whether somebody reads the list in this element: it is scrolled, or the pointer or the keyboard is in it. */
export function isRead(element: Element | null): boolean {
  const scroller = element?.querySelector('.virtual');
  if (!scroller) return false;
  return scroller.scrollTop > 0 || scroller.matches(':hover') || scroller.contains(document.activeElement);
}
