/** JSON as a type: what suites hold, services answer and reports show. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue }
