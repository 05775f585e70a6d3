/** A style sheet as text, which the build puts into the script. */
declare module '*.css?inline' {
  const text: string
  export default text
}
