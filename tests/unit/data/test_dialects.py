# ruff: noqa: E501 (a dialect a line)
"""Delimited files as programs and people write them: each has an expected reading, or an error with the remedy."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tunbridge._core.packing import pack, unpack
from tunbridge.data.readers import iter_batches, read_table
from tunbridge.data.reading import Reading
from tunbridge.errors import DataError


def _rows(*rows: str) -> str:
    return "\n".join(rows) + "\n"


# name: content, expected columns, and a line of the report (empty: the report is empty)
READ: dict[str, tuple[str | bytes, dict[str, list], str]] = {
    # Indexes and delimiters at the end
    "pandas index from 0": (",a,b\n0,x,1\n1,y,2\n2,z,3\n", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, "Column 1 has no name"),
    "R write.csv, rows from 1": ('"","a","b"\n"1","x",1\n"2","y",2\n"3","z",5\n', {"a": ["x", "y", "z"], "b": [1, 2, 5]}, "the numbers of the rows: left out"),
    "R write.table, header one short": ('"a","b"\n"1",4,"u"\n"2",5,"v"\n"3",6,"w"\n', {"a": [4, 5, 6], "b": ["u", "v", "w"]}, "Column 1 has no name"),
    "row names of R": ('"mpg","cyl"\n"Mazda",21.0,6\n"Fiat",32.4,4\n"Honda",30.4,5\n', {"column_1": ["Mazda", "Fiat", "Honda"], "mpg": [21.0, 32.4, 30.4], "cyl": [6, 4, 5]}, "read as 'column_1'"),
    "pandas index read and written again": ("Unnamed: 0,a\n0,x\n1,y\n2,z\n", {"a": ["x", "y", "z"]}, "left out"),
    "pandas index of a selection is kept": (",a\n17,x\n4,y\n9,z\n", {"column_1": [17, 4, 9], "a": ["x", "y", "z"]}, "Column 1 has no name: read as 'column_1'"),
    "pandas index of text is kept": (",a\nu,1\nv,2\nw,3\n", {"column_1": ["u", "v", "w"], "a": [1, 2, 3]}, "'column_1'"),
    "delimiter at the end of every line": ("a,b,\nx,1,\ny,2,\nz,3,\n", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, "Column 3 has no name and no values"),
    "delimiter at the end of the rows only": ("a;b\nx;1;\ny;2;\nz;3;\n", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, "no values: left out"),
    "delimiter at the end of the header only": ("a,b,\nx,1\ny,2\nz,3\n", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, ""),
    "many empty columns of Excel": ("a;b;;;\nx;1;;;\ny;2;;;\nz;3;;;\n", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, "Column 5"),
    # Headers
    "a name twice": ("id,price,price\nu,1,2\nv,3,4\nw,5,6\n", {"id": ["u", "v", "w"], "price": [1, 3, 5], "price_2": [2, 4, 6]}, "Column 3 has the name 'price' again: read as 'price_2'"),
    "a name three times, and taken": ("a,a_2,a,a\n1,2,3,4\n5,6,7,8\n9,8,7,6\n", {"a": [1, 5, 9], "a_2": [2, 6, 8], "a_3": [3, 7, 7], "a_4": [4, 8, 6]}, "'a_3'"),
    "an empty name in the middle": ("a,,c\n1,x,4\n2,y,5\n3,x,6\n", {"a": [1, 2, 3], "column_2": ["x", "y", "x"], "c": [4, 5, 6]}, "Column 2 has no name"),
    "a name of blanks": ("a,  \n1,x\n2,y\n3,x\n", {"a": [1, 2, 3], "column_2": ["x", "y", "x"]}, "Column 2"),
    "no header, numbers": ("5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n", {"x0": [5.1, 4.9, 6.3], "x1": [3.5, 3.0, 3.3], "x2": ["setosa", "setosa", "virginica"]}, "No header: the columns are called 'x0', 'x1', 'x2'"),
    "no header, ids and cities": ("1001,28,München,ja\n1002,45,Berlin,nein\n1003,31,Bonn,ja\n", {"x0": [1001, 1002, 1003], "x1": [28, 45, 31], "x2": ["München", "Berlin", "Bonn"], "x3": ["ja", "nein", "ja"]}, "No header"),
    "no header, categories only": ("p,x,n\ne,x,n\ne,b,w\np,x,w\np,b,n\ne,b,n\n", {"x0": list("peeppe"), "x1": list("xxbxbb"), "x2": list("nnwwnn")}, "No header"),
    "no header, dates": ("2025-01-01,5\n2025-01-02,7\n2025-01-03,6\n", {"x0": [date(2025, 1, 1), date(2025, 1, 2), date(2025, 1, 3)], "x1": [5, 7, 6]}, "No header"),
    "years as names": ("country,2019,2020\nPeru,1.5,2.5\nChad,3.5,4.5\nIran,0.5,1.0\n", {"country": ["Peru", "Chad", "Iran"], "2019": [1.5, 3.5, 0.5], "2020": [2.5, 4.5, 1.0]}, "Header: '2019', '2020' taken as names (header=False if they are values)"),
    "numbered columns of pandas": ("0,1,2\n1.5,x,9.5\n2.5,y,8.5\n3.5,x,7.0\n", {"0": [1.5, 2.5, 3.5], "1": ["x", "y", "x"], "2": [9.5, 8.5, 7.0]}, "Header: '0', '1', '2' taken as names"),
    "numbers that count on beside a name": ("id,1,2,3\na,1,2,3\nb,2,3,4\nc,4,5,6\n", {"id": ["a", "b", "c"], "1": [1, 2, 4], "2": [2, 3, 5], "3": [3, 4, 6]}, "Header: '1', '2', '3' taken as names"),
    "no header, a new category in the first row": (_rows("1001,Anna,Potsdam,34,ja", *(f"{1002 + i},{n},{'Berlin' if i % 3 else 'Hamburg'},{20 + i},{'nein' if i % 2 else 'ja'}" for i, n in enumerate("BCDEFGHI"))), {"x0": [*range(1001, 1010)], "x1": ["Anna", *"BCDEFGHI"], "x2": ["Potsdam", *("Berlin" if i % 3 else "Hamburg" for i in range(8))], "x3": [34, *range(20, 28)], "x4": ["ja", *("nein" if i % 2 else "ja" for i in range(8))]}, "No header"),
    "no header, two new numbers": ("1,2\n3,4\n5,6\n7,8\n", {"x0": [1, 3, 5, 7], "x1": [2, 4, 6, 8]}, "No header"),
    "no header, numbers that go on": ("1,2,3\n4,5,6\n7,8,9\n2,2,2\n", {"x0": [1, 4, 7, 2], "x1": [2, 5, 8, 2], "x2": [3, 6, 9, 2]}, "No header"),
    "no header, years": ("2019,2020\n2020,2021\n2018,2021\n2017,2020\n", {"x0": [2019, 2020, 2018, 2017], "x1": [2020, 2021, 2021, 2020]}, "No header"),
    "no header, lines of a log": ("2025-01-01 10:00:00,123 INFO ok\n2025-01-01 10:00:01,456 WARN slow\n2025-01-01 10:00:05,001 INFO ok\n2025-01-01 10:00:05,001 INFO ok\n", {"x0": [datetime(2025, 1, 1, 10), datetime(2025, 1, 1, 10, 0, 1), datetime(2025, 1, 1, 10, 0, 5), datetime(2025, 1, 1, 10, 0, 5)], "x1": ["123 INFO ok", "456 WARN slow", "001 INFO ok", "001 INFO ok"]}, "No header"),
    "dates as names": ("name,2025-01-01,2025-01-02\na,1,2\nb,2,3\nc,4,4\n", {"name": ["a", "b", "c"], "2025-01-01": [1, 2, 4], "2025-01-02": [2, 3, 4]}, "Header: '2025-01-01', '2025-01-02' taken as names"),
    "a name that is a value, beside one above numbers": ("yes,no,age\nyes,a,1\nno,b,2\nyes,c,3\nyes,d,4\n", {"yes": ["yes", "no", "yes", "yes"], "no": ["a", "b", "c", "d"], "age": [1, 2, 3, 4]}, ""),
    "a title above numbers without a header": ("Umsatz Mai\n1;2\n3;4\n5;5\n", {"x0": [1, 3, 5], "x1": [2, 4, 5]}, "Before the header: 1 line left out"),
    "all text with a header": ("name,city\nAnn,Bonn\nBob,Rome\nEve,Bonn\n", {"name": ["Ann", "Bob", "Eve"], "city": ["Bonn", "Rome", "Bonn"]}, ""),
    "Excel's sep=;": ("sep=;\na;b\nx;1\ny;2\nz;3\n", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, "First line: 'sep=' gives the delimiter"),
    "Excel's sep=; with a mark and CRLF": ("\ufeffsep=;\r\na;b\r\nx;1,5\r\ny;2\r\nz;3\r\n", {"a": ["x", "y", "z"], "b": [1.5, 2.0, 3.0]}, "'sep='"),
    "sep=, quoted": ('"sep=,"\na,b\nx,1\ny,2\nz,3\n', {"a": ["x", "y", "z"], "b": [1, 2, 3]}, "'sep='"),
    "a title and an empty line": ("Sales 2025\n\nid,amount,town\n1,2.5,Bonn\n2,3.5,Rome\n3,1.0,Oslo\n", {"id": [1, 2, 3], "amount": [2.5, 3.5, 1.0], "town": ["Bonn", "Rome", "Oslo"]}, "Before the header: 1 line left out"),
    "two lines before, one with commas": ("Report, January\nby Ann\nid,amount,town\n1,2.5,Bonn\n2,3.5,Rome\n3,1.0,Oslo\n", {"id": [1, 2, 3], "amount": [2.5, 3.5, 1.0], "town": ["Bonn", "Rome", "Oslo"]}, "2 lines left out"),
    "comments before": ("# station: 7\n# unit: mm\nday;rain\nMo;1,5\nTu;0,0\nWe;2,25\n", {"day": ["Mo", "Tu", "We"], "rain": [1.5, 0.0, 2.25]}, "Before the header: 2 lines left out"),
    "a title above semicolons": ("Umsatz Mai\nWare;Menge;Ort\na;1;x\nb;2;y\nc;3;x\n", {"Ware": ["a", "b", "c"], "Menge": [1, 2, 3], "Ort": ["x", "y", "x"]}, "Before the header: 1 line left out"),
    "a title above semicolons, two columns": ("Umsatz; Mai, 2025\n\nWare;Menge;Ort\na;1;x\nb;2;y\nc;3;x\n", {"Ware": ["a", "b", "c"], "Menge": [1, 2, 3], "Ort": ["x", "y", "x"]}, "Before the header: 1 line left out"),
    "a title above tabs": ("Umsatz Mai\n\nWare\tMenge\na\t1\nb\t2\nc\t3\n", {"Ware": ["a", "b", "c"], "Menge": [1, 2, 3]}, "Before the header: 1 line left out"),
    "a title above vertical bars, text only": ("Umsatz Mai\nWare|Ort|Art\na|x|u\nb|y|v\nc|x|u\n", {"Ware": ["a", "b", "c"], "Ort": ["x", "y", "x"], "Art": ["u", "v", "u"]}, "Before the header: 1 line left out"),
    "a title that might be a header one short": ("Report 2025\nname,v\na,1\nb,2\nc,3\n", {"name": ["a", "b", "c"], "v": [1, 2, 3]}, "Before the header: 1 line left out"),
    "row names of R, text only": ('"town","kind"\n"u","Bonn","a"\n"v","Rome","b"\n"w","Bonn","a"\n', {"column_1": ["u", "v", "w"], "town": ["Bonn", "Rome", "Bonn"], "kind": ["a", "b", "a"]}, "read as 'column_1'"),
    "a comment with as many fields as the header": ("# export, 2025\na,b\n1,2\n3,4\n5,5\n", {"a": [1, 3, 5], "b": [2, 4, 5]}, "Before the header: 1 line left out"),
    "a header that starts with #": ("#,name,v\n1,Ann,4\n2,Bob,5\n3,Eve,6\n", {"#": [1, 2, 3], "name": ["Ann", "Bob", "Eve"], "v": [4, 5, 6]}, ""),
    "a title padded by Excel": ("Umsatz 2025;;\n;;\nKunde;Ort;Betrag\nA;Bonn;1,5\nB;Kiel;2,5\nC;Bonn;3,0\n", {"Kunde": ["A", "B", "C"], "Ort": ["Bonn", "Kiel", "Bonn"], "Betrag": [1.5, 2.5, 3.0]}, "Before the header"),
    # Delimiters, line ends, encodings
    "tabs in .csv": ("a\tb\nx\t1\ny\t2\nz\t3\n", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, ""),
    "vertical bars": ("a|b\nx|1\ny|2\nz|3\n", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, "Delimiter: '|'"),
    "single blanks": ("x y kind\n1 2.5 a\n3 4.5 b\n5 6.5 a\n", {"x": [1, 3, 5], "y": [2.5, 4.5, 6.5], "kind": ["a", "b", "a"]}, "Delimiter: ' '"),
    "names of two words are one column": ("first name\nAnn Lee\nBob Ray\nEve Fox\n", {"first name": ["Ann Lee", "Bob Ray", "Eve Fox"]}, ""),
    "a header in the middle of the rows": ("id,kind\n1,a\n2,b\n3,a\nid,kind\n4,b\n", {"id": ["1", "2", "3", "id", "4"], "kind": ["a", "b", "a", "kind", "b"]}, ""),
    "semicolons, a comma in a name": ("name;price, net\nA;1\nB;2\nC;3\n", {"name": ["A", "B", "C"], "price, net": [1, 2, 3]}, ""),
    "semicolons, a comma in a name and in all numbers": ("Messung;Wert, mm\na;1,5\nb;2,5\nc;0,7\n", {"Messung": ["a", "b", "c"], "Wert, mm": [1.5, 2.5, 0.7]}, "Numbers in 'Wert, mm': decimal commas"),
    "semicolons, commas in names and texts": ("Name, Vorname;Alter;Größe, m\nMüller, Anna;34;1,72\nKoch, Bernd;44;1,85\n", {"Name, Vorname": ["Müller, Anna", "Koch, Bernd"], "Alter": [34, 44], "Größe, m": [1.72, 1.85]}, "Delimiter: ';'"),
    "tabs, commas in names and texts": ("Name, Vorname\tGröße, m\nMüller, Anna\t1,72\nKoch, Bernd\t1,85\n", {"Name, Vorname": ["Müller, Anna", "Koch, Bernd"], "Größe, m": [1.72, 1.85]}, "decimal commas"),
    "no header, semicolons and one decimal comma": ("24.12.2025;1,5\n25.12.2025;2,5\n26.12.2025;3,7\n", {"x0": [date(2025, 12, 24), date(2025, 12, 25), date(2025, 12, 26)], "x1": [1.5, 2.5, 3.7]}, "No header"),
    "no header, semicolons and decimal commas": ("1,5;2,5;3,5\n1,7;2,8;3,1\n1,9;2,1;3,3\n", {"x0": [1.5, 1.7, 1.9], "x1": [2.5, 2.8, 2.1], "x2": [3.5, 3.1, 3.3]}, "Delimiter: ';'"),
    "commas, a semicolon in a name and in texts": ("Name;Alias,Wert\nA;B,1\nC;D,2\nE;F,3\n", {"Name;Alias": ["A;B", "C;D", "E;F"], "Wert": [1, 2, 3]}, ""),
    "one column with blanks between thousands": ("Betrag EUR\n12 345\n13 456\n1 200\n99 999\n", {"Betrag EUR": [12345, 13456, 1200, 99999]}, "spaces between thousands"),
    "mixed line ends": ("a,b\r\nx,1\ny,2\r\nz,3", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, ""),
    "old Macintosh": ("a,b\rx,1\ry,2\rz,3\r", {"a": ["x", "y", "z"], "b": [1, 2, 3]}, ""),
    "UTF-8 with a mark": ("\ufeffä,b\nx,1\ny,2\nz,3\n", {"ä": ["x", "y", "z"], "b": [1, 2, 3]}, ""),
    "UTF-16 of Excel": ("Größe\tb\nx\t1\ny\t2\nz\t3\n".encode("utf-16"), {"Größe": ["x", "y", "z"], "b": [1, 2, 3]}, "Encoding: utf-16"),
    "UTF-16 without a mark": ("a,b\nü,1\ny,2\nz,3\n".encode("utf-16-le"), {"a": ["ü", "y", "z"], "b": [1, 2, 3]}, "Encoding: utf-16-le"),
    "latin-1": ("Straße,b\nMünchen,1\nKöln,2\nBonn,3\n".encode("latin-1"), {"Straße": ["München", "Köln", "Bonn"], "b": [1, 2, 3]}, "Encoding: cp1252, because the file is not UTF-8"),
    "Windows-1252 with euro": ("a;b\nx;5 €\ny;7,5 €\nz;1 €\n".encode("cp1252"), {"a": ["x", "y", "z"], "b": [5.0, 7.5, 1.0]}, "€ left out"),
    "gzipped": (gzip.compress(b"a;b\nx;1,5\ny;2,5\nz;3,5\n"), {"a": ["x", "y", "z"], "b": [1.5, 2.5, 3.5]}, "decimal commas"),
    # Numbers
    "decimal commas": ("a;b\nx;1,5\ny;-2,25\nz;3\n", {"a": ["x", "y", "z"], "b": [1.5, -2.25, 3.0]}, "Numbers in 'b': decimal commas"),
    "decimal commas, quoted, between commas": ('a,b\nx,"1,5"\ny,"2,25"\nz,"3,0"\n', {"a": ["x", "y", "z"], "b": [1.5, 2.25, 3.0]}, "decimal commas"),
    "German thousands": ("a;b\nx;1.234,50\ny;12,00\nz;1.000.000,00\n", {"a": ["x", "y", "z"], "b": [1234.5, 12.0, 1e6]}, "decimal commas, points between thousands"),
    "German thousands beside decimals": ("n;p\n1.234;1,5\n12.345;2,25\n999;3,75\n", {"n": [1234, 12345, 999], "p": [1.5, 2.25, 3.75]}, "Numbers in 'n'"),
    "English thousands, quoted": ('a,b\nx,"1,234"\ny,"12"\nz,"1,234,567"\n', {"a": ["x", "y", "z"], "b": [1234, 12, 1234567]}, "commas between thousands"),
    "commas that are one or the other": ('a,b\nx,"1,234"\ny,"5,678"\nz,"9,012"\n', {"a": ["x", "y", "z"], "b": [1234, 5678, 9012]}, "(they might be decimal commas; decimal ',' reads them so)"),
    "the same beside decimal commas": ('a,b\n"1,5","1,234"\n"2,25","5,678"\n"3,5","9,012"\n', {"a": [1.5, 2.25, 3.5], "b": [1.234, 5.678, 9.012]}, "Numbers in 'a', 'b': decimal commas"),
    "points that are decimals": ("a,b\nx,1.234\ny,5.678\nz,9.012\n", {"a": ["x", "y", "z"], "b": [1.234, 5.678, 9.012]}, ""),
    "points that may be either": ("a;b\nx;25.000\ny;7.500\nz;1.250\n", {"a": ["x", "y", "z"], "b": [25.0, 7.5, 1.25]}, "Numbers in 'b': decimal points (points might be between thousands; decimal ',' reads them so)"),
    "points beside decimal points": ("a;b\n2.5;25.000\n1.5;7.500\n0.5;1.250\n", {"a": [2.5, 1.5, 0.5], "b": [25.0, 7.5, 1.25]}, ""),
    "Swiss apostrophes": ("a;b\nx;1'234.50\ny;12.00\nz;2'000.00\n", {"a": ["x", "y", "z"], "b": [1234.5, 12.0, 2000.0]}, "apostrophes between thousands"),
    "French spaces": ("a;b\nx;1 234,5\ny;12,0\nz;2\u202f000,0\n", {"a": ["x", "y", "z"], "b": [1234.5, 12.0, 2000.0]}, "spaces between thousands"),
    "percent": ("a,b\nx,12%\ny,3.5 %\nz,7%\n", {"a": ["x", "y", "z"], "b": [12.0, 3.5, 7.0]}, "Numbers in 'b': % left out"),
    "dollars": ('a,b\nx,"$1,234.50"\ny,$7.00\nz,-$3.25\n', {"a": ["x", "y", "z"], "b": [1234.5, 7.0, -3.25]}, "$ left out"),
    "negative in brackets": ('a,b\nx,"(1,234)"\ny,"2,000"\nz,17\n', {"a": ["x", "y", "z"], "b": [-1234, 2000, 17]}, "commas between thousands"),
    "minus behind (SAP)": ("a;b\nx;12,50-\ny;7,00\nz;1.000,00-\n", {"a": ["x", "y", "z"], "b": [-12.5, 7.0, -1000.0]}, "decimal commas"),
    "a real minus sign": ("a,b\nx,−1.5\ny,2.5\nz,−3\n", {"a": ["x", "y", "z"], "b": [-1.5, 2.5, -3.0]}, ""),
    "two currencies stay text": ("a,b\nx,$5\ny,€6\nz,$7\n", {"a": ["x", "y", "z"], "b": ["$5", "€6", "$7"]}, ""),
    "numbers with units stay text": ("a,b\nx,5 kg\ny,6 kg\nz,7 kg\n", {"a": ["x", "y", "z"], "b": ["5 kg", "6 kg", "7 kg"]}, ""),
    # Codes
    "postcodes": ("zip,n\n01067,1\n80331,2\n04103,3\n", {"zip": ["01067", "80331", "04103"], "n": [1, 2, 3]}, "Text in 'zip': codes with leading zeros"),
    "ids like 007": ("id,n\n007,1\n008,2\n009,3\n", {"id": ["007", "008", "009"], "n": [1, 2, 3]}, "leading zeros"),
    "telephone numbers": ("tel,n\n0301234567,1\n089123456,2\n0401234,3\n", {"tel": ["0301234567", "089123456", "0401234"], "n": [1, 2, 3]}, "leading zeros"),
    "telephone numbers with a plus": ("tel,n\n+49301234567,1\n+4989123456,2\n+49401234,3\n", {"tel": ["+49301234567", "+4989123456", "+49401234"], "n": [1, 2, 3]}, "Text in 'tel'"),
    "telephone numbers with blanks": ("tel,n\n612 345 678,1\n911 222 333,2\n600 100 200,3\n", {"tel": ["612 345 678", "911 222 333", "600 100 200"], "n": [1, 2, 3]}, ""),
    "versions": ("v,n\n1.2.3,1\n1.10.0,2\n2.0.1,3\n", {"v": ["1.2.3", "1.10.0", "2.0.1"], "n": [1, 2, 3]}, ""),
    "network addresses": ("ip,n\n10.0.0.1,1\n10.0.0.2,2\n192.168.1.1,3\n", {"ip": ["10.0.0.1", "10.0.0.2", "192.168.1.1"], "n": [1, 2, 3]}, ""),
    "network addresses like thousands": ("ip,n\n10.168.100.101,1\n192.168.100.102,2\n", {"ip": ["10.168.100.101", "192.168.100.102"], "n": [1, 2]}, ""),
    "versions like thousands": ("v,n\n1.100.200,1\n12.100.200,2\n", {"v": ["1.100.200", "12.100.200"], "n": [1, 2]}, ""),
    "telephone numbers like thousands": ("tel,n\n30 123 456,1\n171 123 456,2\n5 123 456,3\n", {"tel": ["30 123 456", "171 123 456", "5 123 456"], "n": [1, 2, 3]}, ""),
    "millions with a decimal part": ("a;b\nx;1.234.567,5\ny;12.345.678,25\n", {"a": ["x", "y"], "b": [1234567.5, 12345678.25]}, "points between thousands"),
    "postcodes beyond 16 KB": (_rows("zip,y", *(f"{90000 - i},a" for i in range(3000)), "01067,b", "00501,b"), {"zip": [*(str(90000 - i) for i in range(3000)), "01067", "00501"], "y": ["a"] * 3000 + ["b"] * 2}, "Text in 'zip': codes with leading zeros"),
    "a postcode in the last row, without a line end": (_rows("y,zip", *(f"a,{90000 - i}" for i in range(3000)), "b,01067")[:-1], {"y": ["a"] * 3000 + ["b"], "zip": [*(str(90000 - i) for i in range(3000)), "01067"]}, "Text in 'zip': codes with leading zeros"),
    "long card numbers": ("card,n\n4111111111111111111,1\n4222222222222222222,2\n4333333333333333333,3\n", {"card": [4111111111111111111, 4222222222222222222, 4333333333333333333], "n": [1, 2, 3]}, ""),
    # Missing values
    "n/a among numbers": ("a,b\n1,n/a\n2,4.5\n3,5.5\n4,6.5\n", {"a": [1, 2, 3, 4], "b": [None, 4.5, 5.5, 6.5]}, "Missing in 'b': 'n/a' (1 row), because all other values are numbers"),
    "several markers among numbers": ("a,b\n1,-\n2,unknown\n3,5\n4,6\n5,#N/A\n6,.\n7,8\n", {"a": [1, 2, 3, 4, 5, 6, 7], "b": [None, None, 5, 6, None, None, 8]}, "'unknown' (1 row)"),
    "blanks among numbers": ("a,b\n1, \n2,5\n3,6\n4,7\n", {"a": [1, 2, 3, 4], "b": [None, 5, 6, 7]}, "' ' (1 row)"),
    "errors of Excel": ("a;b\n1;#DIV/0!\n2;5,5\n3;6,5\n4;#WERT!\n", {"a": [1, 2, 3, 4], "b": [None, 5.5, 6.5, None]}, "'#DIV/0!'"),
    "markers among decimal commas": ("a;b\n1;k.A.\n2;5,5\n3;6,5\n", {"a": [1, 2, 3], "b": [None, 5.5, 6.5]}, "'k.A.'"),
    "markers among texts stay": ("a,b\n1,n/a\n2,red\n3,blue\n", {"a": [1, 2, 3], "b": ["n/a", "red", "blue"]}, ""),
    "signs are categories": ("a,b\n1,-\n2,+\n3,-\n", {"a": [1, 2, 3], "b": ["-", "+", "-"]}, ""),
    "two numbers and a sign are categories": ("a,b\n1,-\n2,0\n3,1\n", {"a": [1, 2, 3], "b": ["-", "0", "1"]}, ""),
    # Dates
    "German dates": ("d;n\n24.12.2025;1\n6.1.2026;2\n31.01.2026;3\n", {"d": [date(2025, 12, 24), date(2026, 1, 6), date(2026, 1, 31)], "n": [1, 2, 3]}, "Dates in 'd': day.month.year"),
    "American dates": ("d,n\n12/24/2025,1\n1/6/2026,2\n1/31/2026,3\n", {"d": [date(2025, 12, 24), date(2026, 1, 6), date(2026, 1, 31)], "n": [1, 2, 3]}, "Dates in 'd': month/day/year"),
    "British dates": ("d,n\n24/12/2025,1\n6/1/2026,2\n", {"d": [date(2025, 12, 24), date(2026, 1, 6)], "n": [1, 2]}, "Dates in 'd': day/month/year"),
    "dates that do not tell": ("d,n\n3/4/2025,1\n5/6/2025,2\n", {"d": [date(2025, 3, 4), date(2025, 5, 6)], "n": [1, 2]}, "(day/month is possible too; the option day_first decides)"),
    "dates decided by another column": ("d,e\n3/4/2025,24/12/2025\n5/6/2025,1/1/2026\n", {"d": [date(2025, 4, 3), date(2025, 6, 5)], "e": [date(2025, 12, 24), date(2026, 1, 1)]}, "Dates in 'd': day/month/year"),
    "dates with times": ("d;n\n24.12.2025 18:30;1\n06.01.2026 07:00;2\n", {"d": [datetime(2025, 12, 24, 18, 30), datetime(2026, 1, 6, 7)], "n": [1, 2]}, "day.month.year hour:minute"),
    "dates with am and pm": ("d,n\n12/24/2025 6:30 PM,1\n1/6/2026 12:05 AM,2\n", {"d": [datetime(2025, 12, 24, 18, 30), datetime(2026, 1, 6, 0, 5)], "n": [1, 2]}, "am/pm"),
    "months in words": ("d,n\n24 Dec 2025,1\n6 Jan 2026,2\n", {"d": [date(2025, 12, 24), date(2026, 1, 6)], "n": [1, 2]}, "day month year"),
    "SAS dates": ("d,n\n24-Dec-25,1\n06-Jan-26,2\n", {"d": [date(2025, 12, 24), date(2026, 1, 6)], "n": [1, 2]}, "day-month-year"),
    "years of two digits": ("d;n\n24.12.25;1\n06.01.26;2\n", {"d": [date(2025, 12, 24), date(2026, 1, 6)], "n": [1, 2]}, "day.month.year (the years 00 to 68 are taken as 2000 to 2068)"),
    "Japanese order": ("d,n\n2025/12/24,1\n2026/1/6,2\n", {"d": [date(2025, 12, 24), date(2026, 1, 6)], "n": [1, 2]}, "year/month/day"),
    "ISO": ("d,t\n2025-12-24,2025-12-24T18:30:00\n2026-01-06,2026-01-06T07:00:00\n", {"d": [date(2025, 12, 24), date(2026, 1, 6)], "t": [datetime(2025, 12, 24, 18, 30), datetime(2026, 1, 6, 7)]}, ""),
    "dates with a marker": ("d,n\n2025-12-24,1\nunknown,2\n2026-01-06,3\n", {"d": [date(2025, 12, 24), None, date(2026, 1, 6)], "n": [1, 2, 3]}, "because all other values are dates"),
    "no such day stays text": ("d,n\n31.02.2025,1\n01.03.2025,2\n", {"d": ["31.02.2025", "01.03.2025"], "n": [1, 2]}, ""),
    "thousands after 20 rows without": (_rows("Artikel;Menge;Preis", *(f"A{i};{100 + i};{i},50" for i in range(20)), "B;1.234;1.050,00", "C;12.500;3,00"), {"Artikel": [*(f"A{i}" for i in range(20)), "B", "C"], "Menge": [*range(100, 120), 1234, 12500], "Preis": [*(i + 0.5 for i in range(20)), 1050.0, 3.0]}, "Numbers in 'Menge', 'Preis': decimal commas, points between thousands"),
    "the first decimal comma in row 61": (_rows("m;p", *(f"1.{100 + i};{i}" for i in range(60)), "2.500;1,5"), {"m": [*range(1100, 1160), 2500], "p": [*map(float, range(60)), 1.5]}, "Numbers in 'm': decimal commas, points between thousands"),
    "the first decimal comma beyond 16 KB": (_rows("m;p", *(f"1.{100 + i % 900};{i}" for i in range(3000)), "2.500;1,5"), {"m": [*(1100 + i % 900 for i in range(3000)), 2500], "p": [*map(float, range(3000)), 1.5]}, "Numbers in 'm': decimal commas, points between thousands"),
    "thousands with signs": ("a;b\n+1.234;1,5\n-2.345;2,5\n-17;3,5\n", {"a": [1234, -2345, -17], "b": [1.5, 2.5, 3.5]}, "Numbers in 'a': decimal commas, points between thousands"),
    "decimal points beside decimal commas": ("a;b;c\n1.5;1,5;1.234\n2.25;2,5;2.345\n0.75;3,5;3.456\n", {"a": [1.5, 2.25, 0.75], "b": [1.5, 2.5, 3.5], "c": [1.234, 2.345, 3.456]}, "Numbers in 'c': decimal points (points might be between thousands; decimal ',' reads them so)"),
    "thousands alone between semicolons": ("Ort;Einwohner\nUlm;126.405\nAach;2.290\nJena;111.343\n", {"Ort": ["Ulm", "Aach", "Jena"], "Einwohner": [126.405, 2.29, 111.343]}, "Numbers in 'Einwohner': decimal points (points might be between thousands; decimal ',' reads them so)"),
    "thousands beside German dates": ("d;n\n24.12.2025;126.405\n6.1.2026;2.290\n7.1.2026;17\n", {"d": [date(2025, 12, 24), date(2026, 1, 6), date(2026, 1, 7)], "n": [126405, 2290, 17]}, "Numbers in 'n': decimal commas, points between thousands"),
    "thousands of euros": ("a;b\nx;25.000 €\ny;7.500 €\nz;950 €\n", {"a": ["x", "y", "z"], "b": [25000.0, 7500.0, 950.0]}, "(they might be decimal points; decimal '.' reads them so)"),
    "percent in some rows": ("a,b\nx,12%\ny,0.5\nz,7 %\n", {"a": ["x", "y", "z"], "b": [12.0, 0.5, 7.0]}, "(values without % might be fractions)"),
    "times with time zones": ("d,y\n2025-01-31T10:00:00Z,x\n2025-01-31T10:00:00+02:00,y\n", {"d": [datetime(2025, 1, 31, 10, tzinfo=UTC), datetime(2025, 1, 31, 8, tzinfo=UTC)], "y": ["x", "y"]}, "Times in 'd': with time zones, and read as UTC"),
    "a row of units": ("time,temp\ns,°C\n1,20.5\n2,21.5\n3,20.1\n", {"time": ["s", "1", "2", "3"], "temp": ["°C", "20.5", "21.5", "20.1"]}, "First row: text above numbers in 'time', 'temp'; if these are names or units"),
    "two rows of names": ("Q1,Q2\nHow old?,Sex\nimport-a,import-b\n34,F\n44,M\n24,F\n", {"Q1": ["How old?", "import-a", "34", "44", "24"], "Q2": ["Sex", "import-b", "F", "M", "F"]}, "First 2 rows: text above numbers in 'Q1'"),
    "a row of totals": ("item;amount\na;1,5\nb;2,5\nSumme;4,0\n", {"item": ["a", "b", "Summe"], "amount": [1.5, 2.5, 4.0]}, "Last row: 'Summe' in 'item'; if it is a total, delete the row"),
    # All at once
    "a German Excel export": (
        "sep=;\r\nNr;Datum;Umsatz;Rabatt;Größe;PLZ;bezahlt;\r\n1;24.12.2025;1.234,50 €;5 %;k.A.;01067;ja;\r\n"
        "2;06.01.2026;980,00 €;7,5 %;180;80331;nein;\r\n3;07.01.2026;-;0 %;175;04103;ja;\r\n4;08.01.2026;12,00 €;10 %;166;20095;ja;\r\n".encode("cp1252"),
        {"Nr": [1, 2, 3, 4], "Datum": [date(2025, 12, 24), date(2026, 1, 6), date(2026, 1, 7), date(2026, 1, 8)],
         "Umsatz": [1234.5, 980.0, None, 12.0], "Rabatt": [5.0, 7.5, 0.0, 10.0], "Größe": [None, 180, 175, 166],
         "PLZ": ["01067", "80331", "04103", "20095"], "bezahlt": ["ja", "nein", "ja", "ja"]},
        "Numbers in 'Umsatz': decimal commas, points between thousands, € left out",
    ),
}  # fmt: skip

REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a row too short": ("a,b\n1,2\n3\n", "line 3: .* 2; got 1. Add what is missing"),
    "a decimal comma between commas": ("a,b\n1,5\n1,2,5\n3,4\n", "line 3: .* Put fields that hold the delimiter ',' in quotes"),
    "an open quote": ('a,b\n1,"x\n2,y\n', "line 2: .* must close every quote"),
    "a Cyrillic file": ("город,n\nМосква,1\nКазань,2\nОмск,3\n".encode("cp1251"), r"neither UTF-8 nor Western text. Give the encoding, as in encoding='cp1251'"),
    "a DOS file": ("a,b\nM\u00fcller,1\nB\u00f6hm,2\n".encode("cp850"), "Give the encoding, .*'cp850'"),
    "UTF-8 with one damaged byte": ("a,b\nMüller,1\nBöhm,2\nÄhre,3\n".encode() + b"\xff,4\n", "must be utf-8 text; byte"),
    "binary": (b"a,b\n1,\x00\n", "which no text holds"),
    "a header and nothing else": ("a;b;c\n", "it holds a header but no rows"),
    "nothing but blank lines": ("\n \n"[:1], "nothing but blank lines"),
}  # fmt: skip


def _file(folder: Path, content: str | bytes) -> Path:
    path = folder / "data.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", READ)
def test_read_as_a_person_would(tmp_path: Path, name: str) -> None:
    content, expected, line = READ[name]
    table = read_table(_file(tmp_path, content))
    assert table.to_arrow().to_pydict() == expected
    report = str(table.reading)
    assert line in report if line else not [n for n in table.reading.notes if not n.startswith("Delimiter")]


@pytest.mark.parametrize("name", READ)
def test_read_again_and_in_batches(tmp_path: Path, name: str) -> None:
    """A recorded reading gives the same table, and batches give its numbers."""
    content, expected, _ = READ[name]
    path = _file(tmp_path, content)
    table = read_table(path)
    again = read_table(path, reading=table.reading)
    assert again.to_arrow().to_pydict() == expected
    assert again.variables == table.variables
    numbers = [v.name for v in table.variables if v.is_continuous]
    batch = next(iter_batches(path, numbers=numbers, reading=table.reading))
    assert set(batch.column_names) == set(expected)
    for column in numbers:
        assert [x.as_py() for x in batch[column]] == [None if x != x else x for x in table.floats(column).tolist()]


def test_the_decimal_mark_may_be_given(tmp_path: Path) -> None:
    path = _file(tmp_path, "a;b\n25.000;1\n7.500;2\n1.250;3\n")
    table = read_table(path, decimal=",")
    assert table.to_arrow().to_pydict()["a"] == [25000, 7500, 1250]
    assert "Numbers in 'a': decimal commas, points between thousands" in table.reading.notes
    assert next(iter_batches(path, numbers=["a"], decimal=","))["a"].to_pylist() == [25000.0, 7500.0, 1250.0]
    assert read_table(path, reading=table.reading).floats("a").tolist() == [25000.0, 7500.0, 1250.0]
    assert read_table(path, decimal=".").to_arrow().to_pydict()["a"] == [25.0, 7.5, 1.25]
    assert not [note for note in read_table(path, decimal=".").reading.notes if note.startswith("Numbers")]
    commas = _file(tmp_path, 'a;b\n"1,234";x\n"5,678";y\n')
    assert read_table(commas, decimal=".").to_arrow().to_pydict()["a"] == [1234, 5678]
    assert read_table(commas, decimal=",").to_arrow().to_pydict()["a"] == [1.234, 5.678]
    with pytest.raises(DataError, match=r"decimal must be one of"):
        read_table(path, decimal=";")


def test_dates_in_iso_form_are_read_beside_others(tmp_path: Path) -> None:
    table = read_table(_file(tmp_path, "d;n\n24.12.2025;1,5\n06.01.2026;2,5\n"))
    later = _file(tmp_path, "d;n\n2026-02-01;1,5\n03.02.2026;2,5\n")
    expected = [1769904000.0, 1770076800.0]
    assert read_table(later, reading=table.reading).floats("d").tolist() == expected
    assert next(iter_batches(later, numbers=["d", "n"], reading=table.reading))["d"].to_pylist() == expected
    wrong = _file(tmp_path, "d;n\n2026-02-31;1,5\n")
    with pytest.raises(DataError, match=r"column 'd' must hold dates as day\.month\.year; row 1 holds '2026-02-31'"):
        next(iter_batches(wrong, numbers=["d"], reading=table.reading))


TRAINING = _rows("Artikel;Menge;Preis;plz", *(f"A{i};{100 + i};{i},50;{1 + i % 2}" for i in range(30)))


@pytest.mark.parametrize("n_before", [0, 20, 3000])
def test_thousands_that_come_only_in_new_rows(tmp_path: Path, n_before: int) -> None:
    """A whole table and batches are read alike, as the recorded decimal mark says."""
    known = read_table(_file(tmp_path, TRAINING)).reading
    assert known.decimal == ","
    rows = [f"A;{i % 900};{i},50;1" for i in range(n_before)]
    path = _file(tmp_path, _rows("Artikel;Menge;Preis;plz", *rows, "B;1.234;1.050,00;01"))
    table = read_table(path, reading=known)
    batches = list(iter_batches(path, numbers=["Menge", "Preis"], text=["Artikel", "plz"], reading=known))
    for name, last in {"Menge": 1234.0, "Preis": 1050.0}.items():
        assert table.floats(name)[-1] == batches[-1][name][-1].as_py() == last
        assert table.floats(name).tolist() == [x for batch in batches for x in batch[name].to_pylist()]
    assert str(table.to_arrow()["plz"][-1].as_py()) == batches[-1]["plz"][-1].as_py() == "1"


def test_the_decimal_mark_of_models_of_earlier_versions(tmp_path: Path) -> None:
    known = unpack(
        Reading,
        {
            k: v
            for k, v in pack(read_table(_file(tmp_path, TRAINING)).reading).items()
            if k not in ("decimal", "day_first")
        },
    )
    assert known.decimal is None
    path = _file(tmp_path, "Artikel;Menge;Preis;plz\nA;7;1,5;1\nB;1.234;50;2\n")
    assert read_table(path, reading=known).floats("Menge").tolist() == [7.0, 1234.0]
    assert next(iter_batches(path, numbers=["Menge"], reading=known))["Menge"].to_pylist() == [7.0, 1234.0]


def test_the_decimal_mark_can_be_given(tmp_path: Path) -> None:
    path = _file(tmp_path, "Ort;Einwohner\nUlm;126.405\nAach;2.290\n")
    given = read_table(path, reading=Reading(delimiter=";", decimal=","))
    assert given.to_arrow()["Einwohner"].to_pylist() == [126405, 2290]


SEVERAL = {
    "codes in the second": (["zip,b\n10115,1\n20095,2\n", "zip,b\n01067,1\n04109,2\n"], "zip", ["10115", "20095", "01067", "04109"]),
    "codes in the first": (["zip,b\n01067,1\n04109,2\n", "zip,b\n10115,1\n20095,2\n"], "zip", ["01067", "04109", "10115", "20095"]),
    "the order of dates in the second": (["d,v\n03/04/2025,1\n05/04/2025,2\n", "d,v\n13/04/2025,1\n"], "d", [date(2025, 4, 3), date(2025, 4, 5), date(2025, 4, 13)]),
    "decimal commas in the second": (["a;b\n1.234;5\n2.345;6\n", "a;b\n12.500;1,5\n"], "a", [1234, 2345, 12500]),
    "thousands in the second": (["a;b\n1;1,5\n2;2,5\n", "a;b\n3;1.050,00\n1.000;7\n"], "b", [1.5, 2.5, 1050.0, 7.0]),
    "thousands in the first": (["a;b\n3;1.050,00\n1.000;7\n", "a;b\n1.100;1,5\n2;2,5\n"], "a", [3, 1000, 1100, 2]),
    "a marker only in the second": (["a,b\nx,1\ny,22\nz,333\n", "a,b\nu,n/a\n"], "b", [1, 22, 333, None]),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_several_files_are_read_alike(tmp_path: Path, name: str) -> None:
    contents, column, expected = SEVERAL[name]
    paths = [tmp_path / f"{at}.csv" for at in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content)
    table = read_table(paths)
    assert table.to_arrow()[column].to_pylist() == expected
    again = [x for path in paths for x in read_table(path, reading=table.reading).to_arrow()[column].to_pylist()]
    assert again == expected


@pytest.mark.parametrize("bad", ["n. n.", "1.05,00"])
def test_the_value_that_the_recorded_form_refuses_is_named(tmp_path: Path, bad: str) -> None:
    known = read_table(_file(tmp_path, TRAINING)).reading
    path = _file(tmp_path, f"Artikel;Menge;Preis;plz\nA;7;1,50;1\nB;8;{bad};2\n")
    with pytest.raises(DataError, match=f"column 'Preis' must hold numbers with decimal commas; row 2 holds '{bad}'"):
        read_table(path, reading=known)
    with pytest.raises(DataError, match=f"column 'Preis' must hold numbers with decimal commas; row 2 holds '{bad}'"):
        list(iter_batches(path, numbers=["Preis"], reading=known))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_remedy(tmp_path: Path, name: str) -> None:
    content, message = REFUSED[name]
    with pytest.raises(DataError, match=message):
        read_table(_file(tmp_path, content))


def test_the_collection_is_large() -> None:
    assert len(READ) + len(REFUSED) >= 95
