import type { Place } from './tree.ts'

export function powershellCompletion(places: readonly Place[]): string[] {
  return [
    '# PowerShell completion for svc. Add to $PROFILE: svc completion powershell | Out-String | Invoke-Expression',
    'Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {',
    '    param($wordToComplete, $commandAst, $cursorPosition)',
    '    $names = @{',
    ...places.map(({ path, words }) => `        ${quoted(path)} = ${list(words.map(({ name }) => name))}`),
    '    }',
    '    $flags = @{',
    ...places.map(({ path, flags }) => `        ${quoted(path)} = ${list(flags.map(({ long }) => long))}`),
    '    }',
    '    $values = @{',
    ...places.flatMap(({ path, flags }) =>
      flags
        .filter(({ takes }) => takes !== 'nothing')
        .flatMap(({ short, long, values }) =>
          [short, long]
            .filter((name) => name !== null)
            .map((name) => `        ${quoted(`${path}|${name}`)} = ${list(values)}`),
        ),
    ),
    '    }',
    '    $asks = @{',
    ...places.flatMap(({ path, names, flags }) => [
      ...(names === null ? [] : [`        ${quoted(path)} = ${quoted(names)}`]),
      ...flags.flatMap((flag) =>
        flag.names === null ? [] : [`        ${quoted(`${path}|${flag.long}`)} = ${quoted(flag.names)}`],
      ),
    ]),
    '    }',
    `    $at = ''
    $previous = ''
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition })
    foreach ($element in $before) {
        $word = $element.ToString()
        if ($word -eq '--') { return }
        $next = "$at $word".Trim()
        if (-not $values.ContainsKey("$at|$previous") -and $names.ContainsKey($next)) { $at = $next }
        $previous = $word
    }
    $offered = if ($values.ContainsKey("$at|$previous")) { $values["$at|$previous"] }
        elseif ($wordToComplete.StartsWith('-')) { $flags[$at] }
        else { $names[$at] }
    $asked = if ($values.ContainsKey("$at|$previous")) { $asks["$at|$previous"] }
        elseif ($wordToComplete.StartsWith('-')) { $null }
        else { $asks[$at] }
    if ($asked) { $offered = @($offered) + @(svc completion --names $asked 2>$null) }
    $offered | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}`,
  ]
}

function list(values: readonly string[]): string {
  return `@(${values.map(quoted).join(', ')})`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
