/** Who the caller is. */
export interface Me {
  /** Empty where nobody signs in. */
  readonly user_id: string;
  readonly signs_in: boolean;
  readonly roles: readonly {
    readonly name: string;
    readonly is: 'user' | 'approver' | 'operator' | 'admin';
    /** Of an operator who reads contents for a reason; an admin does in any case. */
    readonly reads?: 'contents';
  }[];
}
